package simulation

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// job is a child Job, with the Job controller's state for it.
type job struct {
	*world
	name     string
	uid      string
	owner    string // UID of the JobSet
	epoch    int32  // epoch in which it was created or resumed
	attempt  int32
	entry    Entry
	spares   bool // its seats are for spares
	seats    []*seat
	failures int // number of failures since the last success

	suspended bool
	deleting  bool
	gone      bool
	failed    bool
	kicked    bool
	made      bool // all of its pods have been created since it was created or resumed

	created, started time.Duration // started is when it was created or last resumed
}

// seat is a completion index of a Job.
type seat struct {
	slot      string
	completed bool
	retry     time.Duration // no new pod is created before this time
}

func (w *world) createJob(owner jobSet, e Entry, index int64) *job {
	w.serial++
	j := &job{
		world: w, name: e.jobName(index), uid: fmt.Sprint("job", w.serial), owner: owner.uid, epoch: owner.epoch.Epoch,
		attempt: owner.restarts, entry: e, suspended: owner.suspended, created: w.now, started: w.now, spares: index == sparesJob,
	}
	for _, name := range e.seatsOf(index) {
		j.seats = append(j.seats, &seat{slot: name})
	}
	w.jobs = append(w.jobs, j)
	j.kick()
	return j
}

func (j *job) complete() bool {
	for _, s := range j.seats {
		if !s.completed {
			return false
		}
	}
	return true
}

// kick schedules a reconcile of the Job by the Job controller. Changes within a short time are batched.
func (j *job) kick() {
	if j.kicked || j.gone {
		return
	}
	j.kicked = true
	j.in(j.random.between(10*time.Millisecond, time.Second), func() {
		j.kicked = false
		j.sync()
	})
}

func (j *job) sync() {
	switch {
	case j.gone:
	case j.deleting:
		j.empty()
		if len(j.living()) == 0 {
			j.gone = true
			j.jobs = slices.DeleteFunc(j.jobs, func(other *job) bool { return other == j })
			j.note("job", "%s is gone", j.name)
			j.controller.kick()
		}
	case j.suspended || j.failed:
		j.empty()
	default:
		j.drop()
		j.fill()
	}
}

// living returns the Job's pods in the API server that have not ended.
func (j *job) living() []*pod {
	var pods []*pod
	for _, p := range j.pods {
		if p.job == j && !p.gone && !p.told {
			pods = append(pods, p)
		}
	}
	return pods
}

func (j *job) empty() {
	for _, p := range j.living() {
		j.deletePod(p)
	}
}

// fill creates a pod for each seat without one, after the back-off if the last pod failed.
func (j *job) fill() {
	for _, s := range j.seats {
		j.thin(s)
		switch {
		case s.completed || j.seated(s):
		case j.now < s.retry:
			j.at(s.retry, j.kick)
		default:
			j.createPod(j, s.slot)
		}
	}
	j.made = true
}

// thin keeps only one pod per index: the pod that is furthest along or, in case of a tie, the oldest. The other pods are deleted,
// which does not count as a failure.
func (j *job) thin(s *seat) {
	living := slices.DeleteFunc(j.living(), func(p *pod) bool { return p.slot != s.slot || p.duplicate || p.deleting })
	slices.SortStableFunc(living, func(a, b *pod) int { return cmp.Compare(b.phase, a.phase) }) // Running before Pending
	for _, p := range living[min(1, len(living)):] {
		j.note("job", "%s has two pods of %s", j.name, s.slot)
		p.surplus = true
		j.deletePod(p)
	}
}

func (j *job) seated(s *seat) bool {
	return slices.ContainsFunc(j.pods, func(p *pod) bool {
		return p.job == j && p.slot == s.slot && !p.gone && !p.told && !p.duplicate
	})
}

// missed counts a lost pod towards the back-off.
func (j *job) missed(p *pod) {
	if p.duplicate || p.surplus || j.suspended || j.deleting {
		return
	}
	j.failures++
	for _, s := range j.seats {
		if s.slot == p.slot {
			s.retry = j.now + jobBackoff(j.failures)
			j.note("job", "%s replaces %s in %s", j.name, p.uid, jobBackoff(j.failures))
		}
	}
}

// lose notifies the orchestrators of a pod that is no longer running. It counts as a loss only if it leaves a gap.
func (w *world) lose(p *pod, gap bool) {
	for _, o := range w.orchestrators {
		o.missed(p, gap)
	}
}

// remove deletes a Job in the foreground: its pods are deleted first.
func (j *job) remove(who, why string) {
	if j.deleting || j.gone {
		return
	}
	j.deleting = true
	j.note(who, "deletes %s of epoch %d: %s", j.name, j.epoch, why)
	j.truth.deleted(j, why)
	j.kick()
}
