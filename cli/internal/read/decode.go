package read

import (
	"cmp"
	"strconv"

	corev1 "k8s.io/api/core/v1"
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

// decode reads an object leniently: fields of an unexpected type are treated as missing.
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
			Conditions []timeline.Condition `json:"conditions"`
		} `json:"status"`
	}
	into(o, &s)
	return s.Status.Conditions
}

func into(o *unstructured.Unstructured, target any) {
	_ = runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, target) // sets the fields that have the expected type
}

func jobSet(o *unstructured.Unstructured) *timeline.Group {
	g := inPlaceGroup(o, 0)
	charged, _, _ := unstructured.NestedInt64(o.Object, "status", "restartsCountTowardsMax")
	g.Charged = max(g.Charged, int32(charged))
	if limit, found, _ := unstructured.NestedInt64(o.Object, "spec", "failurePolicy", "maxRestarts"); found {
		g.MaxRestarts = int32(limit)
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

// inPlaceGroup reads the annotations of an owner. limit is the number of allowed restarts if there is no annotation.
func inPlaceGroup(o *unstructured.Unstructured, limit int32) *timeline.Group {
	annotations := o.GetAnnotations()
	charged, _ := strconv.ParseInt(annotations[inPlaceRestarts], 10, 32) // missing or invalid is treated as 0
	if n, err := strconv.ParseInt(annotations[maxRestarts], 10, 32); err == nil {
		limit = int32(n)
	}
	return &timeline.Group{MaxRestarts: limit, Charged: int32(charged), Sidecar: annotations[inPlaceDriver] == "cri"}
}

func appWrapper(o *unstructured.Unstructured) *timeline.AppWrapper {
	var s struct {
		Status timeline.AppWrapper `json:"status"`
	}
	into(o, &s)
	s.Status.RetryLimit = -1
	if n, err := strconv.ParseInt(o.GetAnnotations()[retryLimit], 10, 32); err == nil {
		s.Status.RetryLimit = int32(n)
	}
	return &s.Status
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
			timeline.ElasticJob `json:",inline"`
			FailedIndexes       string `json:"failedIndexes"`
		} `json:"status"`
	}
	into(o, &s)
	job := &s.Status.ElasticJob
	job.BackoffLimit = *cmp.Or(s.Spec.BackoffLimit, s.Spec.RunPolicy.BackoffLimit, new(int32(3))) // 3 is the kind's default
	for i := range job.Workers {
		job.Workers[i].Abandoned = contains(job.Workers[i].Index, s.Status.FailedIndexes)
	}
	return job
}

func decodeEvent(e *corev1.Event) timeline.Event {
	return timeline.Event{
		At: EventTime(e), Kind: e.InvolvedObject.Kind, Name: e.InvolvedObject.Name, Reason: e.Reason, Note: e.Message,
	}
}

func Queued(o *unstructured.Unstructured) bool { return o.GetLabels()[queueLabel] != "" }
