package elasticjob

import (
	"testing"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	. "github.com/holdfast-project/holdfast/elastic-operator/internal/testing/wrappers"
)

// A job without finalizers is deleted immediately, so the controller never observes a deletion timestamp.
func TestStateOfADeletedJobIsDropped(t *testing.T) {
	r := New(Options{Clock: clock.RealClock{}})
	job := MakeElasticJob("a").With(func(j *v1alpha1.ElasticJob) { j.UID = "uid" }).Obj()
	r.expectations.podCreated(job.UID, 0, "pod")
	r.requested.Store(job.UID, time.Now())
	r.jobEvents().Delete(t.Context(), event.TypedDeleteEvent[*v1alpha1.ElasticJob]{Object: job}, nil)
	if last, found := r.requested.Load(job.UID); len(r.expectations.jobs) > 0 || found {
		t.Errorf("left: %v, %v", r.expectations.jobs, last)
	}
}
