package elasticjob

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/policy"
)

// expectationTimeout is how long an expectation lasts without confirmation from the cache. An incorrect expectation is harmless, because
// names and UIDs prevent duplicates. It only causes additional API calls.
const expectationTimeout = 30 * time.Second

// expectations records API calls whose results may not be in the cache yet.
type expectations struct {
	mu    sync.Mutex
	clock clock.PassiveClock
	jobs  map[types.UID]*jobExpectations
}

type jobExpectations struct {
	created  map[int]createdPod      // by index
	deleted  map[types.UID]time.Time // by UID of the pod
	services map[int]time.Time       // by index
}

type createdPod struct {
	uid types.UID
	at  time.Time
}

func newExpectations(c clock.PassiveClock) *expectations {
	return &expectations{clock: c, jobs: map[types.UID]*jobExpectations{}}
}

func (e *expectations) of(job types.UID) *jobExpectations {
	if e.jobs[job] == nil {
		e.jobs[job] = &jobExpectations{map[int]createdPod{}, map[types.UID]time.Time{}, map[int]time.Time{}}
	}
	return e.jobs[job]
}

func (e *expectations) podCreated(job types.UID, index int, uid types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.of(job).created[index] = createdPod{uid, e.clock.Now()}
}

func (e *expectations) podDeleted(job, uid types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.of(job).deleted[uid] = e.clock.Now()
}

func (e *expectations) serviceCreated(job types.UID, index int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.of(job).services[index] = e.clock.Now()
}

func (e *expectations) forget(job types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.jobs, job)
}

// apply adds the expected pods, deletions and services to the observed state, and drops expectations that are confirmed or have expired.
func (e *expectations) apply(s *scope) {
	e.mu.Lock()
	defer e.mu.Unlock()
	known := e.jobs[s.job.UID]
	if known == nil {
		return
	}
	now := e.clock.Now()
	for index, c := range known.created {
		pod, found := s.facts.Pods[index]
		switch {
		case found && pod.UID == c.uid, known.isDeleted(c.uid), now.Sub(c.at) > expectationTimeout:
			delete(known.created, index)
		case !found || known.isDeleted(pod.UID):
			s.facts.Pods[index] = policy.Pod{UID: c.uid, Created: c.at}
		default:
			delete(known.created, index) // another pod has replaced it
		}
	}
	known.applyDeletions(s, now)
	for index, at := range known.services {
		switch {
		case s.services[index] != nil, now.Sub(at) > expectationTimeout:
			delete(known.services, index)
		default:
			s.services[index] = &corev1.Service{}
		}
	}
}

func (j *jobExpectations) isDeleted(uid types.UID) bool {
	_, deleted := j.deleted[uid]
	return deleted
}

func (j *jobExpectations) applyDeletions(s *scope, now time.Time) {
	cached := map[types.UID]bool{}
	for index, pod := range s.facts.Pods {
		if j.isDeleted(pod.UID) {
			cached[pod.UID] = true
			pod.Terminating = true
			s.facts.Pods[index] = pod
		}
	}
	for uid, at := range j.deleted {
		if (!cached[uid] && now.Sub(at) > time.Second) || now.Sub(at) > expectationTimeout {
			delete(j.deleted, uid)
		}
	}
}
