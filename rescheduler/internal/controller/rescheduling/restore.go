package rescheduling

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
)

// restore is for pods that nothing is wrong with: a move is given back when a replacement has run well for long enough, and what is
// over is forgotten.
func (r *Reconciler) restore(ctx context.Context, s *scope) (ctrl.Result, error) {
	r.metrics.bound(s)
	if s.bare() {
		return ctrl.Result{}, r.retire(ctx, s)
	}
	if s.memory.Empty() || s.pod.Status.Phase != corev1.PodRunning || r.config.DryRun {
		return ctrl.Result{}, nil
	}
	defer r.ledger.Lock(s.subject.UID)()
	s.subject = r.ledger.Latest(s.subject)
	s.read()
	m, after := r.restored(s)
	m = m.Forget(s.now)
	if want := m.Annotations(s.now); !same(s.subject.Annotations, want) {
		if err := r.write(ctx, s, want); err != nil {
			return again(err)
		}
		if err := r.publish(ctx, s); err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{RequeueAfter: soonest(after, s.nextEnd())}, nil
}

// restored is the memory after a look at the pod, and when to look again.
func (r *Reconciler) restored(s *scope) (m memory.Memory, after time.Duration) {
	ready, last := readySince(s.pod), lastFailure(s.memory)
	if s.memory.Times == 0 || ready.IsZero() || s.pod.CreationTimestamp.Time.Before(last.Truncate(time.Second)) {
		return s.memory, 0
	}
	from := ready
	for _, t := range []time.Time{last, s.memory.Restored} {
		if t.After(from) {
			from = t
		}
	}
	period := time.Duration(r.config.Stabilization)
	if left := period - s.now.Sub(from); left > 0 {
		return s.memory, left
	}
	return s.memory.Restore(s.now), period
}

func lastFailure(m memory.Memory) time.Time {
	var last time.Time
	for _, e := range m.Entries {
		if e.Last.After(last) {
			last = e.Last
		}
	}
	return last
}

// nextEnd is when the next node is no longer avoided; 0: none is.
func (s *scope) nextEnd() time.Duration {
	var next time.Duration
	for _, e := range s.memory.Entries {
		if e.Live(s.now) {
			next = soonest(next, e.Expires.Sub(s.now))
		}
	}
	return min(next, 24*time.Hour)
}
