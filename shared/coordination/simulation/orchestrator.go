package simulation

import (
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/leader"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/coordination/worker"
)

// orchestrator is one of two processes, only one of which leads. Like jobset-controller/internal/orchestrator, it runs the
// shipped leader.Decide on its observations, reads what the plans need and executes their actions.
type orchestrator struct {
	process
	random random
	link   *link
	sub    *subscription

	leading bool
	since   time.Duration // when it began to lead
	token   coordination.Token
	renewed time.Duration // when this process last renewed the Lease
	seen    lease         // the Lease as last read
	seenAt  time.Duration

	cache             *jobSet // JobSet in its informer's cache
	revision, applied int     // number of changes that it was notified of, and number of the one in the cache
	stale             time.Duration
	unseen            map[*pod]bool // pods that are not in its informer's cache yet
	lags              random        // for the informer's lag
	losses            []leader.Loss
	memory            *leader.Memory
	memoryOf          string // UID of the JobSet
	busy              bool
	again             bool
	next              time.Duration // time of the next planned reconcile
}

const (
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	leaseRetry    = 4 * time.Second
	resyncEvery   = 20 * time.Second
	sweepEvery    = 60 * time.Second
)

func newOrchestrator(w *world, name string) *orchestrator {
	o := &orchestrator{random: newRandom(w.seed, name), lags: newRandom(w.seed, name+" pods"), unseen: map[*pod]bool{}, memory: &leader.Memory{}}
	o.process = process{world: w, name: name, died: o.startAgain}
	o.link = newLink(w, &o.process, nil, name)
	return o
}

func (o *orchestrator) start() {
	if o.up {
		return
	}
	o.begin()
	o.leading, o.busy, o.again, o.losses, o.cache, o.next = false, false, false, nil, nil, 0
	o.memory, o.memoryOf, o.unseen = &leader.Memory{}, "", map[*pod]bool{}
	o.seen, o.seenAt = lease{}, o.now
	o.notice()
	o.elect()
}

func (o *orchestrator) startAgain() {
	o.sub.close()
	o.sub = nil
	o.in(o.random.between(500*time.Millisecond, 10*time.Second), o.start)
}

// elect renews or acquires the Lease. As with client-go, a process that cannot renew it in time ends.
func (o *orchestrator) elect() {
	ask(&o.process, o.random, o.tryLease, func(error) {
		switch {
		case !o.leading:
		case o.api.lease.holder != o.name, o.now-o.renewed > renewDeadline:
			o.note(o.name, "has lost the Lease")
			o.crash()
			return
		}
		o.later(leaseRetry, o.elect)
	})
}

// tryLease acquires or renews the Lease in the API server, if possible.
func (o *orchestrator) tryLease() error {
	l := &o.api.lease
	if o.seen != *l {
		o.seen, o.seenAt = *l, o.now
	}
	switch {
	case l.holder == o.name && o.leading:
		l.renewed, o.renewed = o.now, o.now
	case l.holder == "" || (o.now-o.seenAt > leaseDuration && l.holder != o.name) || (l.holder == o.name && !o.leading):
		l.holder, l.renewed = o.name, o.now
		l.transitions++
		o.renewed = o.now
		token := l.token()
		o.later(5*time.Millisecond, func() { o.lead(token) })
	}
	return nil
}

func (o *orchestrator) lead(token coordination.Token) {
	o.leading, o.since, o.token = true, o.now, token
	o.note(o.name, "leads with token %d", token.Transitions)
	o.sub = subscribe(o.link, "", rounds.Slot{}, func(worker.Event) { o.wake(0) })
	o.sweep()
	o.wake(0)
}

// notice delivers a JobSet change to the informer after a delay, and triggers a reconcile.
func (o *orchestrator) notice() { o.hear(true) }

func (o *orchestrator) hear(reconcile bool) {
	if !o.up {
		return
	}
	lag := o.random.between(time.Millisecond, 50*time.Millisecond)
	if o.now < o.stale {
		lag += o.stale - o.now
	}
	var latest *jobSet
	if o.api.current != nil {
		js := *o.api.current
		latest = &js
	}
	o.revision++
	revision := o.revision
	o.later(lag, func() {
		if revision > o.applied {
			o.cache, o.applied = latest, revision
		}
		if reconcile {
			o.wake(0)
		}
	})
}

// missed records a lost pod. Losses within a short time are debounced.
func (o *orchestrator) missed(p *pod, gap bool) {
	if !o.up || (!gap && !o.memory.Restarting()) {
		return
	}
	lost := leader.Loss{Pod: o.plainPod(p), Gap: gap}
	o.later(o.random.between(10*time.Millisecond, 200*time.Millisecond), func() {
		o.losses = append(o.losses, lost)
		o.wake(0)
	})
}

// sawPod delivers the pod that was just created to the informer after a delay.
func (o *orchestrator) sawPod(string) {
	made := o.pods[len(o.pods)-1]
	o.unseen[made] = true
	lag := o.lags.between(time.Millisecond, 50*time.Millisecond) + max(0, o.stale-o.now)
	o.later(lag, func() { delete(o.unseen, made) })
}

// wake schedules a reconcile, or moves the scheduled one forward.
func (o *orchestrator) wake(d time.Duration) {
	if !o.leading {
		return
	}
	if o.busy {
		o.again = o.again || d == 0
		return
	}
	due := o.now + max(d, time.Millisecond)
	if o.next != 0 && o.next <= due {
		return
	}
	o.next = due
	o.later(due-o.now, func() {
		if o.next == due {
			o.next = 0
			o.reconcile()
		}
	})
}

// finish ends a reconcile and schedules the next one.
func (o *orchestrator) finish(next time.Duration) {
	o.busy = false
	if o.again {
		o.again = false
		next = 0
	}
	o.wake(next)
}

// report emits the events from a plan whose actions have succeeded.
func (o *orchestrator) report(events []leader.Event) {
	for _, e := range events {
		o.note(o.name, "event %s: %s", e.Reason, e.Note)
		switch e.Reason {
		case leader.EventRestarting:
			o.repairs = nil
		case leader.EventPod, leader.EventJob:
			o.repairs = append(o.repairs, e.Note)
		case leader.EventUsedUp:
			o.verdict = append(o.repairs, e.Note)
		}
	}
}

// reportDone emits the events for what a reconcile has changed.
func (o *orchestrator) reportDone(r *reconciliation) {
	events, _ := leader.Report(&r.o, o.memory, moment(o.now))
	o.report(events)
}

// sweep drops groups of deleted JobSets.
func (o *orchestrator) sweep() {
	request(o.link, func(s *server) ([]string, error) { return s.names(), nil }, func(names []string, err error) {
		for _, uid := range names {
			if uid == otherUID || o.api.current != nil && o.api.current.uid == uid {
				continue
			}
			request(o.link, func(s *server) (struct{}, error) { s.drop(uid); return struct{}{}, nil }, func(struct{}, error) {})
		}
		wait := sweepEvery
		if err != nil {
			wait = time.Second
		}
		o.later(wait, o.sweep)
	})
}
