//go:build envtest

package jobset

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/testing/sandbox"
)

// idle returns a reconciler whose controller is not running, so that a test can pass it the state of a stale cache.
func (w *world) idle() *Reconciler {
	w.Stop()
	w.metrics = prometheus.NewRegistry()
	return New(Options{Client: w.Client, Live: w.Client, Recorder: w, Metrics: NewMetrics(w.metrics), Clock: clock.RealClock{}})
}

func TestRestartIsNotRecordedOnAChangedJobSet(t *testing.T) {
	w := newWorld(t)
	r := w.idle()
	stale := w.create(MakeJobSet("a").Workers(1)).DeepCopy()
	w.annotate("a", v1alpha2.InPlaceRestartsKey, "0")
	s := &scope{jobSet: stale, decided: true, decision: policy.Decision{Outcome: policy.Restart, Reason: "DefaultFailurePolicy"}}
	result, err := r.writeStatus(t.Context(), s)
	if err != nil || result.RequeueAfter == 0 {
		t.Errorf("not retried: %v, %v", result, err)
	}
	if got := w.jobSet("a").Status.Restarts; got != 0 || len(w.Events()) > 0 {
		t.Errorf("%d restarts, events %q", got, w.Events())
	}
	w.countIs("jobset_restarts_total", 0)

	s.jobSet, s.pending = w.jobSet("a"), nil
	if _, err := r.writeStatus(t.Context(), s); err != nil || w.jobSet("a").Status.Restarts != 1 {
		t.Errorf("not recorded on the current JobSet: %v", err)
	}
	w.countIs("jobset_restarts_total", 1)
}

func TestEpochIsNotOpenedOnAChangedJobSet(t *testing.T) {
	w := newWorld(t)
	r := w.idle()
	stale := w.create(MakeJobSet("a").Workers(1)).DeepCopy()
	theirs := `{"epoch":2,"base":1,"recreate":2,"cause":"timeout/1/1"}`
	w.annotate("a", epoch.Annotation, theirs)
	opened, err := r.openEpoch(t.Context(), &scope{jobSet: stale, Facts: policy.Facts{Epoch: epoch.First()}}, "suspend/1", 0)
	if got := w.jobSet("a").Annotations[epoch.Annotation]; err != nil || opened || got != theirs {
		t.Errorf("opened %v, %v: %s", opened, err, got)
	}
}

func TestNoJobIsCreatedInAPastEpoch(t *testing.T) {
	w := newWorld(t)
	r := w.idle()
	stale := w.create(MakeJobSet("a").Workers(1).Annotation(v1alpha2.InPlaceTimeoutKey, "60s")).DeepCopy()
	w.annotate("a", epoch.Annotation, `{"epoch":2,"base":1,"recreate":2,"cause":"timeout/1/1"}`)
	for _, c := range []struct {
		jobSet *v1alpha2.JobSet
		jobs   string
	}{{stale, ""}, {w.jobSet("a"), "a-workers-0@0"}} {
		s := &scope{jobSet: c.jobSet, gates: []bool{true}}
		s.InPlace, s.Tallies = policy.ReadInPlace(c.jobSet.Annotations), make([]v1alpha2.ReplicatedJobStatus, 1)
		if _, err := r.createJobs(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		if diff := sandbox.Differs("jobs", c.jobs, w.jobNames()); diff != "" {
			t.Error(diff)
		}
	}
}
