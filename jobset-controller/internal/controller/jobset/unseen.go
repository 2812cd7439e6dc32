package jobset

import (
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// unseenFor is how long a write is believed that the cache does not show. It lags by moments; after that the write was undone, or
// changed nothing.
const unseenFor = 2 * time.Second

// unseen remembers what was written to Jobs and is not in the cache yet, so that a pass that comes before it does not write it again:
// with a thousand Jobs the cache always lags by some.
type unseen struct {
	clock clock.PassiveClock

	mu sync.Mutex
	// writes by the JobSet, and by the name of the Job.
	writes map[types.UID]map[string]write
}

// write is the last one to a Job.
type write struct {
	job     types.UID
	version string // that was changed; empty: the Job was created
	at      time.Time
}

func newUnseen(c clock.PassiveClock) *unseen {
	return &unseen{clock: c, writes: map[types.UID]map[string]write{}}
}

// written notes that a Job was changed, or created if it has no version of before.
func (u *unseen) written(jobSet types.UID, job *batchv1.Job, version string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.writes[jobSet] == nil {
		u.sweep()
		u.writes[jobSet] = map[string]write{}
	}
	u.writes[jobSet][job.Name] = write{job: job.UID, version: version, at: u.clock.Now()}
}

// sweep forgets JobSets that are not looked at any more.
func (u *unseen) sweep() {
	for jobSet, writes := range u.writes {
		for name, w := range writes {
			if u.expired(w) {
				delete(writes, name)
			}
		}
		if len(writes) == 0 {
			delete(u.writes, jobSet)
		}
	}
}

func (u *unseen) expired(w write) bool { return u.clock.Since(w.at) >= unseenFor }

// settle forgets what the cache shows by now, and returns the names of the Jobs that it shows as they were before the last write, or
// not at all. Nil costs nothing: there is no such Job.
func (u *unseen) settle(jobSet types.UID, shown []batchv1.Job) map[string]bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	writes := u.writes[jobSet]
	if len(writes) == 0 {
		return nil
	}
	hidden := map[string]bool{}
	there := map[string]bool{}
	for i := range shown {
		if w, is := writes[shown[i].Name]; is {
			there[shown[i].Name], hidden[shown[i].Name] = true, !w.shownBy(&shown[i])
		}
	}
	for name, w := range writes {
		if !there[name] {
			hidden[name] = w.version == "" // a Job that was changed and is not there is gone
		}
		if !hidden[name] || u.expired(w) {
			delete(writes, name)
			delete(hidden, name)
		}
	}
	if len(writes) == 0 {
		delete(u.writes, jobSet)
	}
	return hidden
}

// shownBy: a Job of the name that is not the one written to is an earlier one if the write was its creation, and a later one otherwise.
func (w write) shownBy(job *batchv1.Job) bool {
	if job.UID != w.job {
		return w.version != ""
	}
	return job.ResourceVersion != w.version
}
