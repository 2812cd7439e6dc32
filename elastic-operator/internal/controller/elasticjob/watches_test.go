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
	r.requests.due(job.UID, time.Minute)
	r.jobEvents().Delete(t.Context(), event.TypedDeleteEvent[*v1alpha1.ElasticJob]{Object: job}, nil)
	if len(r.expectations.jobs)+len(r.requests.last) > 0 {
		t.Errorf("left: %v, %v", r.expectations.jobs, r.requests.last)
	}
}
