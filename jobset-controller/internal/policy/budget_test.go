package policy

import (
	"testing"

	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
)

func TestBudgetUsed(t *testing.T) {
	allowing := func(limit int32) *wrappers.JobSet {
		return wrappers.MakeJobSet("a").Change(func(js *v1alpha2.JobSet) { js.Spec.FailurePolicy = &v1alpha2.FailurePolicy{MaxRestarts: limit} })
	}
	inPlace := func(limit int32, used string) *wrappers.JobSet {
		return allowing(limit).Annotation(v1alpha2.InPlaceTimeoutKey, "60s").Annotation(v1alpha2.InPlaceRestartsKey, used)
	}
	for name, c := range map[string]struct {
		jobSet *wrappers.JobSet
		want   float64
	}{
		"nothing has failed":                             {allowing(4), 0},
		"recreations, one of which is free":              {allowing(4).Restarts(3, 2), 0.5},
		"restarts in place":                              {inPlace(4, "3"), 0.75},
		"recreations that are not in the annotation yet": {inPlace(4, "1").Restarts(2, 2), 0.5},
		"its last restart":                               {inPlace(4, "4"), 1},
		"one restart too many":                           {inPlace(4, "5"), 1},
		"a count that cannot be read":                    {inPlace(4, "many").Restarts(1, 1), 0.25},
		"the upstream strategy": {allowing(4).Restarts(1, 0).Change(func(js *v1alpha2.JobSet) {
			js.Status.CurrentInPlaceRestartAttempt = ptr.To[int32](3)
		}), 0.5},
		"no restart is allowed": {allowing(0).Restarts(1, 1), 0},
		"there is no policy":    {wrappers.MakeJobSet("a").Restarts(1, 1), 0},
		"it has failed":         {inPlace(4, "5").Change(func(js *v1alpha2.JobSet) { js.Status.TerminalState = "Failed" }), 0},
		"it has completed":      {inPlace(4, "4").Change(func(js *v1alpha2.JobSet) { js.Status.TerminalState = "Completed" }), 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := BudgetUsed(c.jobSet.Obj()); got != c.want {
				t.Errorf("got %g, want %g", got, c.want)
			}
		})
	}
}
