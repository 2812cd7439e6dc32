package elasticjob

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/policy"
)

// expectationTimeout is how long an expectation lasts without confirmation from the cache. An incorrect expectation is harmless, because
// names and UIDs prevent duplicates. It only causes additional API calls.
const expectationTimeout = 30 * time.Second

// Keys of recent API calls whose results may not be in the cache yet.
type (
	createdPod struct { // the value is a policy.Pod
		job   types.UID
		index int
	}
	createdService struct {
		job   types.UID
		index int
	}
	deleted types.UID
)

// expect records an API call.
func (r *Reconciler) expect(call, value any) { r.recent.Set(call, value, expectationTimeout) }

func (r *Reconciler) expects(call any) bool {
	_, found := r.recent.Get(call)
	return found
}

// applyExpectations adds the expected pods, deletions and services to the observed state, and drops expectations that are confirmed.
func (r *Reconciler) applyExpectations(s *scope) {
	for _, index := range s.facts.Memory.Indexes {
		r.expectPod(s, index)
		if key := (createdService{s.job.UID, index}); s.services[index] != nil {
			r.recent.Delete(key)
		} else if r.expects(key) {
			s.services[index] = &corev1.Service{}
		}
	}
	for index, pod := range s.facts.Pods {
		if r.expects(deleted(pod.UID)) {
			pod.Terminating = true
			s.facts.Pods[index] = pod
		}
	}
}

// expectPod adds the pod that was created for a worker, unless the cache contains it or a later one, or it was deleted.
func (r *Reconciler) expectPod(s *scope, index int) {
	key := createdPod{s.job.UID, index}
	value, found := r.recent.Get(key)
	if !found {
		return
	}
	created := value.(policy.Pod)
	cached, isCached := s.facts.Pods[index]
	if isCached && !r.expects(deleted(cached.UID)) || r.expects(deleted(created.UID)) {
		r.recent.Delete(key)
		return
	}
	s.facts.Pods[index] = created
}
