package report

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-project/holdfast/cli/internal/read"
	"github.com/holdfast-project/holdfast/shared/timeline"
)

// state sums up: what has ended, then what goes on, then what is missing.
func state(s Status, t timeline.Workload) (State, string) {
	root := t.Objects[0]
	if c, is := isTrue(root, "Failed"); is || phase(root) == "Failed" {
		return Failed, failure(root, c)
	}
	if _, is := isTrue(root, "Completed", "Complete", "Succeeded"); is || phase(root) == "Succeeded" {
		return Finished, ""
	}
	if c, is := isTrue(root, "Suspended"); is || phase(root) == "Suspended" || phase(root) == "Suspending" {
		why := "somebody to resume it"
		if s.Quota == notHeld {
			why = "quota"
		}
		_ = c
		return Suspended, why
	}
	if s.Recovery != nil {
		return Recovering, fmt.Sprintf("rung %d, until %s at the latest: %s", s.Recovery.Rung, s.Recovery.Deadline.UTC().Format(time.RFC3339), s.Recovery.Reason)
	}
	for _, o := range t.Objects {
		if c, found := find(o, "InPlaceInSync"); found && !c.True && c.Reason != "Completed" && c.Reason != "NotPossible" {
			return Waiting, c.Reason + ": " + c.Message
		}
	}
	if s.Workers == 0 {
		return Waiting, "its pods to be created"
	}
	if s.Ready < s.Workers {
		return Waiting, fmt.Sprintf("%d of %d pods", s.Workers-s.Ready, s.Workers)
	}
	return Training, ""
}

func phase(o timeline.Object) string {
	if o.AppWrapper == nil {
		return ""
	}
	return o.AppWrapper.Phase
}

// failure is what an object failed of: an AppWrapper says it in the condition Unhealthy.
func failure(o timeline.Object, c timeline.Condition) string {
	if u, found := find(o, "Unhealthy"); found && c.Type == "" {
		c = u
	}
	if c.Message == "" {
		return c.Reason
	}
	return c.Reason + ": " + c.Message
}

func find(o timeline.Object, kind string) (timeline.Condition, bool) {
	for _, c := range o.Conditions {
		if c.Type == kind {
			return c, true
		}
	}
	return timeline.Condition{}, false
}

func isTrue(o timeline.Object, kinds ...string) (timeline.Condition, bool) {
	for _, kind := range kinds {
		if c, found := find(o, kind); found && c.True {
			return c, true
		}
	}
	return timeline.Condition{}, false
}

const (
	held    = "held"
	notHeld = "not held"
	noQueue = "no queue"
)

// quota as the root says it: an AppWrapper by a condition, others by not being suspended.
func quota(w *read.Workload, t timeline.Workload) string {
	root := w.Root()
	if !read.Queued(root) {
		return noQueue
	}
	if t.Objects[0].AppWrapper != nil {
		if _, is := isTrue(t.Objects[0], "QuotaReserved"); is {
			return held
		}
		return notHeld
	}
	suspended, _, _ := unstructured.NestedBool(root.Object, "spec", "suspend")
	if _, ended := isTrue(t.Objects[0], "Completed", "Complete", "Succeeded", "Failed"); suspended || ended {
		return notHeld
	}
	return held
}
