package read

import (
	"cmp"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/holdfast-project/holdfast/shared/timeline"
)

// Annotations on workloads.
const (
	inPlaceRestarts = "alpha.jobset.sigs.k8s.io/inplace-restarts"
	inPlaceTimeout  = "alpha.jobset.sigs.k8s.io/inplace-timeout"
	maxRestarts     = "holdfast.dev/max-restarts"
	inPlaceDriver   = "holdfast.dev/inplace-driver"
	retryLimit      = "workload.codeflare.dev.appwrapper/retryLimit"
)

// decode reads an object leniently: fields of an unexpected type count as missing.
func decode(o *unstructured.Unstructured) timeline.Object {
	t := timeline.Object{
		Kind: o.GetKind(), Name: o.GetName(), Annotations: o.GetAnnotations(), Created: o.GetCreationTimestamp().Time, Conditions: conditions(o),
	}
	switch o.GroupVersionKind().Group {
	case jobSetGroup:
		t.Group = jobSet(o)
	case jobs.Group, podKind.Group:
		t.Group = declared(o)
	case appWrapperGroup:
		t.AppWrapper = appWrapper(o)
	case elasticGroup:
		t.ElasticJob = elasticJob(o)
	}
	return t
}

func conditions(o *unstructured.Unstructured) []timeline.Condition {
	var s struct {
		Status struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	into(o, &s)
	var list []timeline.Condition
	for _, c := range s.Status.Conditions {
		list = append(list, timeline.Condition{
			Type: c.Type, True: c.Status == metav1.ConditionTrue, Reason: c.Reason, Message: c.Message, Since: c.LastTransitionTime.Time,
		})
	}
	return list
}

func into(o *unstructured.Unstructured, target any) {
	_ = runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, target) // fields of the expected type are set
}

func jobSet(o *unstructured.Unstructured) *timeline.Group {
	var s struct {
		Spec struct {
			FailurePolicy *struct {
				MaxRestarts int32 `json:"maxRestarts"`
			} `json:"failurePolicy"`
		} `json:"spec"`
		Status struct {
			Charged int32 `json:"restartsCountTowardsMax"`
		} `json:"status"`
	}
	into(o, &s)
	g := inPlaceGroup(o, 0)
	g.Charged = max(g.Charged, s.Status.Charged)
	if s.Spec.FailurePolicy != nil {
		g.MaxRestarts = s.Spec.FailurePolicy.MaxRestarts
	}
	return g
}

// declared returns the group of an Indexed Job without a JobSet, or of a pod with index 0, or nil if there is none.
func declared(o *unstructured.Unstructured) *timeline.Group {
	_, asks := o.GetAnnotations()[inPlaceTimeout]
	leads := o.GetKind() == podKind.Kind && o.GetLabels()[groupNameLabel] == o.GetName()
	single := o.GetKind() == jobs.Kind && o.GetLabels()[jobSetLabel] == ""
	if !asks || !leads && !single {
		return nil
	}
	limit, found, err := unstructured.NestedInt64(o.Object, "spec", "backoffLimit")
	if !found || err != nil {
		limit = 6
	}
	return inPlaceGroup(o, int32(limit))
}

// inPlaceGroup reads the annotations of an owner. limit is the number of restarts without an annotation.
func inPlaceGroup(o *unstructured.Unstructured, limit int32) *timeline.Group {
	annotations := o.GetAnnotations()
	charged, _ := strconv.ParseInt(annotations[inPlaceRestarts], 10, 32) // missing or invalid counts as 0
	if n, err := strconv.ParseInt(annotations[maxRestarts], 10, 32); err == nil {
		limit = int32(n)
	}
	return &timeline.Group{MaxRestarts: limit, Charged: int32(charged), Sidecar: annotations[inPlaceDriver] == "cri"}
}

func appWrapper(o *unstructured.Unstructured) *timeline.AppWrapper {
	var s struct {
		Status struct {
			Phase    string `json:"phase"`
			Resets   int32  `json:"resettingCount"`
			Attempts []struct {
				StartTime  metav1.Time  `json:"startTime"`
				ReadyTime  *metav1.Time `json:"readyTime"`
				EndTime    *metav1.Time `json:"endTime"`
				Reason     string       `json:"reason"`
				Message    string       `json:"message"`
				Nodes      []string     `json:"nodes"`
				Evacuation bool         `json:"evacuation"`
			} `json:"attempts"`
		} `json:"status"`
	}
	into(o, &s)
	aw := &timeline.AppWrapper{Phase: s.Status.Phase, Resets: s.Status.Resets, RetryLimit: -1}
	if n, err := strconv.ParseInt(o.GetAnnotations()[retryLimit], 10, 32); err == nil {
		aw.RetryLimit = int32(n)
	}
	for _, a := range s.Status.Attempts {
		aw.Attempts = append(aw.Attempts, timeline.Attempt{
			Start: a.StartTime.Time, Ready: at(a.ReadyTime), End: at(a.EndTime), Reason: a.Reason, Message: a.Message, Nodes: a.Nodes, Evacuation: a.Evacuation,
		})
	}
	return aw
}

func elasticJob(o *unstructured.Unstructured) *timeline.ElasticJob {
	var s struct {
		Spec struct {
			BackoffLimit *int32 `json:"backoffLimit"`
			RunPolicy    struct {
				BackoffLimit *int32 `json:"backoffLimit"`
			} `json:"runPolicy"`
		} `json:"spec"`
		Status struct {
			Message       string `json:"message"`
			FailedIndexes string `json:"failedIndexes"`
			Workers       []struct {
				Index       int32             `json:"index"`
				Failures    int32             `json:"failures"`
				Disruptions int32             `json:"disruptions"`
				LastReason  string            `json:"lastReason"`
				LastTime    *metav1.MicroTime `json:"lastTime"`
			} `json:"workers"`
		} `json:"status"`
	}
	into(o, &s)
	job := &timeline.ElasticJob{BackoffLimit: 3, Message: s.Status.Message} // default of the kind
	if limit := cmp.Or(s.Spec.BackoffLimit, s.Spec.RunPolicy.BackoffLimit); limit != nil {
		job.BackoffLimit = *limit
	}
	for _, w := range s.Status.Workers {
		e := timeline.ElasticWorker{
			Index: w.Index, Failures: w.Failures, Disruptions: w.Disruptions, LastReason: w.LastReason, Abandoned: contains(w.Index, s.Status.FailedIndexes),
		}
		if w.LastTime != nil {
			e.LastTime = w.LastTime.Time
		}
		job.Workers = append(job.Workers, e)
	}
	return job
}

func at(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}

func decodeEvent(e *corev1.Event) timeline.Event {
	return timeline.Event{
		At: EventTime(e), Kind: e.InvolvedObject.Kind, Name: e.InvolvedObject.Name, Reason: e.Reason, Note: e.Message, Count: e.Count,
	}
}

// EventTime returns the most precise time of an event's first occurrence.
func EventTime(e *corev1.Event) time.Time {
	switch {
	case !e.EventTime.IsZero():
		return e.EventTime.Time
	case !e.FirstTimestamp.IsZero():
		return e.FirstTimestamp.Time
	}
	return e.CreationTimestamp.Time
}

// Queued reports whether the object is in a Kueue queue.
func Queued(o *unstructured.Unstructured) bool { return o.GetLabels()[queueLabel] != "" }
