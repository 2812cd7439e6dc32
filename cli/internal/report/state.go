package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-project/holdfast/cli/internal/read"
	"github.com/holdfast-project/holdfast/shared/timeline"
)

// state returns the workload's state and what it is waiting for. It checks first whether the workload has ended, then whether a recovery is
// in progress, and then whether pods are missing. missing is the number of required pods that are not ready. ElasticJobs report in their
// status whether they have enough workers.
func state(s Status, w *read.Workload, t timeline.Workload, missing int) (State, string) {
	root := t.Objects[0]
	if c := root.True("Failed"); c != nil || phase(root) == "Failed" {
		return Failed, failure(root, c)
	}
	if root.True("Completed", "Complete", "Succeeded") != nil || phase(root) == "Succeeded" {
		return Finished, ""
	}
	if root.True("Suspended") != nil || phase(root) == "Suspended" || phase(root) == "Suspending" {
		why := "a user to resume it"
		if s.Quota == notHeld {
			why = "quota"
		}
		return Suspended, why
	}
	if s.Recovery != nil {
		return Recovering, fmt.Sprintf("recovery level %d, until %s at the latest: %s", s.Recovery.Level, s.Recovery.Deadline.UTC().Format(time.RFC3339), s.Recovery.Reason)
	}
	if c := notInSync(t); c != nil {
		return Waiting, timeline.Joined(c.Reason, c.Message)
	}
	elastic := false
	for _, o := range t.Objects {
		if o.ElasticJob == nil {
			continue
		}
		elastic = true
		if o.True("Running", "Succeeded") == nil {
			return Waiting, cmp.Or(o.ElasticJob.Message, podsToCome)
		}
	}
	if s.Workers == 0 && !elastic {
		return Waiting, podsToCome
	}
	if missing > 0 {
		return Waiting, fmt.Sprintf("%d of %d pods", missing, s.Workers)
	}
	if c := root.Condition("PodsReady"); c != nil && !c.True() || slices.ContainsFunc(w.Objects, incomplete) {
		return Waiting, podsToCome
	}
	return Training, ""
}

// incomplete reports whether an object has fewer ready pods or Jobs than it needs, according to its status. Pods that do not exist are
// missing too.
func incomplete(o *unstructured.Unstructured) bool {
	switch o.GetKind() {
	case "JobSet":
		ready, found := sum(o, "ready", "status", "replicatedJobsStatus")
		succeeded, _ := sum(o, "succeeded", "status", "replicatedJobsStatus")
		later, _ := sum(o, "notStarted", "status", "replicatedJobsStatus")
		replicas, _ := sum(o, "replicas", "spec", "replicatedJobs")
		return found && ready+succeeded+later < replicas
	case "Job":
		needed, left := number(o.Object, "spec", "parallelism"), number(o.Object, "spec", "completions")
		succeeded := number(o.Object, "status", "succeeded")
		if left > 0 {
			return number(o.Object, "status", "ready") < min(needed, left-succeeded)
		}
		return number(o.Object, "status", "ready")+succeeded < needed // without completions, no pod is created after the first success
	case "Deployment", "StatefulSet", "LeaderWorkerSet":
		return number(o.Object, "status", "readyReplicas") < number(o.Object, "spec", "replicas")
	}
	return false
}

func number(in map[string]any, fields ...string) int64 {
	n, _, _ := unstructured.NestedInt64(in, fields...)
	return n
}

// sum adds up an integer field of a list's items. found is false if there are no items.
func sum(o *unstructured.Unstructured, key string, list ...string) (n int64, found bool) {
	items, _, _ := unstructured.NestedSlice(o.Object, list...)
	for _, item := range items {
		if fields, is := item.(map[string]any); is {
			n += number(fields, key)
		}
	}
	return n, len(items) > 0
}

// notInSync returns the condition of a group that is not in sync, or nil if there is none.
func notInSync(t timeline.Workload) *timeline.Condition {
	for _, o := range t.Objects {
		c := o.Condition("InPlaceInSync")
		if c != nil && !c.True() && c.Reason != "Completed" && c.Reason != "NotPossible" {
			return c
		}
	}
	return nil
}

const podsToCome = "its pods to be created"

// elasticText returns the messages of ElasticJobs that have not ended.
func elasticText(s Status, t timeline.Workload) string {
	if s.State == Finished || s.State == Failed {
		return ""
	}
	var parts []string
	for _, o := range t.Objects {
		if job := o.ElasticJob; job != nil && job.Message != "" && job.Message != s.WaitsFor && o.True("Succeeded") == nil {
			parts = append(parts, job.Message)
		}
	}
	return strings.Join(parts, "; ")
}

func phase(o timeline.Object) string {
	if o.AppWrapper == nil {
		return ""
	}
	return o.AppWrapper.Phase
}

// failure returns why an object failed, based on its Failed condition. An AppWrapper has no such condition and reports the failure in its
// Unhealthy condition.
func failure(o timeline.Object, failed *timeline.Condition) string {
	c := cmp.Or(failed, o.Condition("Unhealthy"), &timeline.Condition{})
	return timeline.Joined(c.Reason, c.Message)
}

const (
	held    = "held"
	notHeld = "not held"
	noQueue = "no queue"
)

// quota returns whether the root holds its quota: held, notHeld or noQueue. An AppWrapper has a condition for it. Other kinds hold it while
// they are not suspended. A queued ElasticJob is suspended until it is admitted, even if its spec does not set suspend.
func quota(w *read.Workload, t timeline.Workload) string {
	root := w.Root()
	if !read.Queued(root) {
		return noQueue
	}
	if t.Objects[0].AppWrapper != nil {
		if t.Objects[0].True("QuotaReserved") != nil {
			return held
		}
		return notHeld
	}
	suspended, _, _ := unstructured.NestedBool(root.Object, "spec", "suspend")
	if suspended || t.Objects[0].True("Suspended", "Completed", "Complete", "Succeeded", "Failed") != nil {
		return notHeld
	}
	return held
}
