//go:build envtest

package app

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
)

// seriesWithin is how long the suite of the published controller waits for the second event of a Job that cannot be created.
const seriesWithin = 10 * time.Second

// The API server keeps the repetition of an event in the first one, as a series. The recorder is that of the manager.
func TestASecondRefusalOfAJobMakesTheEventASeries(t *testing.T) {
	cluster, k8s := startCluster(t)
	js := MakeJobSet("a").Workers(1).Namespace("default").Obj()
	foreign := &batchv1.Job{Spec: js.Spec.ReplicatedJobs[0].Template.Spec}
	foreign.Namespace, foreign.Name = "default", "a-workers-0"
	foreign.Spec.Template.Spec.RestartPolicy = "Never"
	for _, object := range []client.Object{foreign, js} {
		if err := k8s.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	start(t, cluster, parse(t, "--metrics-bind-address=0", "--health-probe-bind-address=0"))
	var found eventsv1.Event
	eventually(t, "there is no series of JobCreationFailed", func() bool {
		var list eventsv1.EventList
		if err := k8s.List(t.Context(), &list, client.InNamespace("default")); err != nil {
			t.Fatal(err)
		}
		for _, event := range list.Items {
			if event.Reason == "JobCreationFailed" && event.Regarding.UID == js.UID && event.Series != nil {
				found = event
				return true
			}
		}
		return false
	})
	if apart := found.Series.LastObservedTime.Sub(found.EventTime.Time); found.Series.Count < 2 || apart > seriesWithin {
		t.Errorf("%d events in %s, want a second within %s", found.Series.Count, apart, seriesWithin)
	}
}
