package elasticjob

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/policy"
)

// believed is how long an expectation holds that the cache does not confirm. Names and UIDs keep a wrong one from doing harm: it only costs
// calls.
const believed = 30 * time.Second

// expectations are what was done and may not be in the cache yet.
type expectations struct {
	mu    sync.Mutex
	clock clock.PassiveClock
	jobs  map[types.UID]*done
}

// done for one job.
type done struct {
	created  map[int]created
	deleted  map[types.UID]time.Time
	services map[int]time.Time
}

type created struct {
	uid types.UID
	at  time.Time
}

func newExpectations(c clock.PassiveClock) *expectations {
	return &expectations{clock: c, jobs: map[types.UID]*done{}}
}

func (e *expectations) of(job types.UID) *done {
	if e.jobs[job] == nil {
		e.jobs[job] = &done{map[int]created{}, map[types.UID]time.Time{}, map[int]time.Time{}}
	}
	return e.jobs[job]
}

func (e *expectations) podCreated(job types.UID, index int, uid types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.of(job).created[index] = created{uid, e.clock.Now()}
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

// apply adds to what was observed what is known to have been done, and drops what the cache shows, or should have shown by now.
func (e *expectations) apply(s *scope) {
	e.mu.Lock()
	defer e.mu.Unlock()
	known := e.jobs[s.job.UID]
	if known == nil {
		return
	}
	now := e.clock.Now()
	for index, c := range known.created {
		pod, there := s.facts.Pods[index]
		_, gone := known.deleted[c.uid]
		switch {
		case there && pod.UID == c.uid, gone, now.Sub(c.at) > believed:
			delete(known.created, index)
		case !there || known.deletedSoon(pod.UID):
			s.facts.Pods[index] = policy.Pod{UID: c.uid, Created: c.at}
		default:
			delete(known.created, index) // another one took its place
		}
	}
	known.applyDeletions(s, now)
	for index, at := range known.services {
		switch {
		case s.services[index] != nil, now.Sub(at) > believed:
			delete(known.services, index)
		default:
			s.services[index] = &corev1.Service{} // there, and nothing else about it matters
		}
	}
}

func (d *done) deletedSoon(uid types.UID) bool {
	_, deleted := d.deleted[uid]
	return deleted
}

func (d *done) applyDeletions(s *scope, now time.Time) {
	there := map[types.UID]bool{}
	for index, pod := range s.facts.Pods {
		if _, deleted := d.deleted[pod.UID]; deleted {
			there[pod.UID] = true
			pod.Terminating = true
			s.facts.Pods[index] = pod
		}
	}
	for uid, at := range d.deleted {
		if (!there[uid] && now.Sub(at) > time.Second) || now.Sub(at) > believed {
			delete(d.deleted, uid)
		}
	}
}

// intervals tell when something was last done for a job.
type intervals struct {
	mu    sync.Mutex
	clock clock.PassiveClock
	last  map[types.UID]time.Time
}

func newIntervals(c clock.PassiveClock) *intervals {
	return &intervals{clock: c, last: map[types.UID]time.Time{}}
}

// due returns 0, and notes that it is done now, if the last time is long enough ago; otherwise how long to wait.
func (i *intervals) due(job types.UID, every time.Duration) time.Duration {
	i.mu.Lock()
	defer i.mu.Unlock()
	now := i.clock.Now()
	if wait := every - now.Sub(i.last[job]); wait > 0 && !i.last[job].IsZero() {
		return wait
	}
	i.last[job] = now
	return 0
}

// postpone what was due by so much.
func (i *intervals) postpone(job types.UID, by time.Duration) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.last[job] = i.clock.Now().Add(by)
}

func (i *intervals) forget(job types.UID) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.last, job)
}
