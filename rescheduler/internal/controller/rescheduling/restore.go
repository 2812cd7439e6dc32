package rescheduling

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/internal/owners"
)

// restore handles healthy pods. A slot that has been healthy for long enough returns its moves, and expired entries are dropped.
func (r *Reconciler) restore(ctx context.Context, s *scope) (ctrl.Result, error) {
	r.Metrics.bound(s)
	if s.bare() {
		return ctrl.Result{}, r.retire(ctx, s)
	}
	if s.memory.Empty() || s.pod.Status.Phase != corev1.PodRunning || r.Config.DryRun {
		return ctrl.Result{}, nil
	}
	unlock, locked := r.lock(s)
	if !locked {
		return ctrl.Result{RequeueAfter: contended}, nil
	}
	defer unlock()
	m, after, err := r.returned(ctx, s)
	if err != nil {
		return ctrl.Result{}, err
	}
	m = m.Forget(s.now)
	if want := m.Annotations(s.now); !same(s.subject.Annotations, want) {
		if err := r.write(ctx, s, want); err != nil {
			return again(err)
		}
	}
	return ctrl.Result{RequeueAfter: soonest(after, s.nextEnd())}, nil
}

// returned returns the memory after a healthy pod was reconciled, and when to reconcile it again. Only the slot that was moved returns its
// moves. For pods without an identity it is unknown which one replaced which, so all of them must be healthy.
func (r *Reconciler) returned(ctx context.Context, s *scope) (m memory.Memory, after time.Duration, err error) {
	slot, from := owners.Slot(s.pod), readySince(s.pod)
	last := s.memory.LastMove(slot)
	if last.IsZero() || from.IsZero() {
		return s.memory, 0, nil
	}
	period := time.Duration(r.Config.Stabilization)
	if last.After(from) {
		from = last
	}
	if slot == "" && s.now.Sub(from) >= period {
		c, err := r.census(ctx, s)
		if err != nil {
			return s.memory, 0, err
		}
		if c.troubled.After(from) {
			from = c.troubled
		}
	}
	if left := period - s.now.Sub(from); left > 0 {
		return s.memory, left, nil
	}
	return s.memory.Return(slot), 0, nil
}

// nextEnd returns when the next exclusion expires; 0 if there is none.
func (s *scope) nextEnd() time.Duration {
	var next time.Duration
	for _, e := range s.memory.Entries {
		if e.Live(s.now) {
			next = soonest(next, e.Expires.Sub(s.now))
		}
	}
	return min(next, 24*time.Hour)
}
