package jobset

import (
	"cmp"
	"slices"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// A Job that the API server does not take is not asked for again at each news of those that it took: with a quota that is used up these would
// be thousands of calls a second. One that is forbidden may be allowed soon, and one that is invalid will not before its spec changes.
const (
	forbiddenRetry     = time.Second // doubles each time, up to foreignRetry
	forbiddenDoublings = 5
)

// refusals remembers entries of JobSets whose Jobs were refused. It is safe for concurrent use.
type refusals struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	of    *lru.Cache
}

// refusedEntry of a spec, in one attempt of its JobSet.
type refusedEntry struct {
	jobSet     types.UID
	generation int64
	restarts   int32
	entry      string
}

// refused since when, how often, and why if that will not change by itself.
type refused struct {
	until   time.Time
	times   int
	message string
}

func newRefusals(c clock.PassiveClock) *refusals { return &refusals{clock: c, of: lru.New(remembered)} }

func keyOf(js *v1alpha2.JobSet, job *batchv1.Job) refusedEntry {
	return refusedEntry{js.UID, js.Generation, js.Status.Restarts, job.Labels[v1alpha2.ReplicatedJobNameKey]}
}

// due are the Jobs that may be asked for now. wait is when the first of the others may be, 0 if there are none; message is what the API server
// has said about one of those that it will not take.
func (r *refusals) due(js *v1alpha2.JobSet, missing []*batchv1.Job) (due []*batchv1.Job, wait time.Duration, message string) {
	now := r.clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(missing, func(job *batchv1.Job) bool {
		found, ok := r.of.Get(keyOf(js, job))
		if !ok || !now.Before(found.(refused).until) {
			return false
		}
		left := found.(refused).until.Sub(now)
		if wait == 0 || left < wait {
			wait = left
		}
		message = cmp.Or(message, found.(refused).message)
		return true
	}), wait, message
}

// note what became of an attempt to create a Job, in a pass that began then.
func (r *refusals) note(js *v1alpha2.JobSet, job *batchv1.Job, err error, began time.Time) {
	message := refusal(err)
	if message == "" && !apierrors.IsForbidden(err) {
		return
	}
	now, key := r.clock.Now(), keyOf(js, job)
	r.mu.Lock()
	defer r.mu.Unlock()
	last := refused{}
	if found, ok := r.of.Get(key); ok {
		last = found.(refused)
	}
	if began.Before(last.until) { // another Job of the same entry, in the same pass
		return
	}
	pause := foreignRetry
	if message == "" {
		pause = min(foreignRetry, forbiddenRetry<<min(last.times, forbiddenDoublings))
	}
	r.of.Add(key, refused{until: now.Add(pause), times: last.times + 1, message: message})
}
