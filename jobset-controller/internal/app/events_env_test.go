//go:build envtest

package app

import (
	"slices"
	"testing"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
)

// seriesWithin is how long the upstream test suite waits for the second event about a Job that cannot be created.
const seriesWithin = 10 * time.Second

// The API server records a repeated event in the first event, as a series. The test uses the manager's recorder. The
// status of the JobSet changes after the first rejection, which must not start a new event.
func TestSecondRejectionOfAJobMakesTheEventASeries(t *testing.T) {
	cluster, k8s := startCluster(t)
	js := MakeJobSet("a").Workers(1).Namespace("default").Obj()
	js.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.Containers[0].Image = ""
	if err := k8s.Create(t.Context(), js); err != nil {
		t.Fatal(err)
	}
	start(t, cluster, parse(t, "--metrics-bind-address=0", "--health-probe-bind-address=0"))
	var found []eventsv1.Event
	eventually(t, "there is no series of JobCreationFailed", func() bool {
		var list eventsv1.EventList
		if err := k8s.List(t.Context(), &list, client.InNamespace("default")); err != nil {
			t.Fatal(err)
		}
		found = slices.DeleteFunc(list.Items, func(e eventsv1.Event) bool { return e.Reason != "JobCreationFailed" || e.Regarding.UID != js.UID })
		return slices.ContainsFunc(found, func(e eventsv1.Event) bool { return e.Series != nil })
	})
	if len(found) != 1 {
		t.Fatalf("%d events, want one series", len(found))
	}
	series := found[0].Series
	if apart := series.LastObservedTime.Sub(found[0].EventTime.Time); series.Count < 2 || apart > seriesWithin {
		t.Errorf("%d events in %s, want a second within %s", series.Count, apart, seriesWithin)
	}
}
