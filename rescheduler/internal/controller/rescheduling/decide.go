package rescheduling

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/holdfast-project/holdfast/rescheduler/internal/policy"
	"github.com/holdfast-project/holdfast/rescheduler/internal/signals"
	"github.com/holdfast-project/holdfast/shared/bootstrap/requeue"
	"github.com/holdfast-project/holdfast/shared/series"
)

const (
	// mayNotWriteFor is the delay before a forbidden write is retried.
	mayNotWriteFor = 5 * time.Minute
	// replaced is how long controllers may take to replace a pod that has failed.
	replaced = 20 * time.Second
)

// decideAndAct decides about an abnormal pod and carries out the decision. Decisions about one workload are made one at a time, and each is
// based on what the previous one wrote.
func (r *Reconciler) decideAndAct(ctx context.Context, s *scope) (ctrl.Result, error) {
	unlock, locked := r.lock(s)
	if !locked {
		return ctrl.Result{RequeueAfter: contended}, nil
	}
	defer unlock()
	known, err := r.ofTemplate(ctx, s)
	if err != nil {
		return ctrl.Result{}, err
	}
	if !known {
		if s.now.Sub(signals.FailedAt(s.pod)) < replaced { // its replacement, the first living pod of its template, may not exist yet
			return ctrl.Result{RequeueAfter: replaced / 4}, nil
		}
		return ctrl.Result{}, nil
	}
	d, m, err := r.decide(ctx, s)
	if err != nil || d == nil {
		return ctrl.Result{}, err
	}
	return r.carryOut(ctx, s, m, d)
}

// decide returns the decision for the first match that requires action now. If all matches must wait, it returns the decision that is due
// first.
func (r *Reconciler) decide(ctx context.Context, s *scope) (*policy.Decision, signals.Match, error) {
	var waiting *policy.Decision
	var of signals.Match
	for _, m := range s.matches {
		f, err := r.facts(ctx, s, m)
		if err != nil {
			return nil, m, err
		}
		d := policy.Decide(f)
		if d.Moves() && !f.Pod.Placed {
			if f.Pod.Pinned, err = r.volumes(ctx, s.pod); err != nil {
				return nil, m, err
			}
			d = policy.Decide(f)
		}
		if !quiet(d.Reason) && d.Act != policy.Wait {
			return &d, m, nil
		}
		if d.After > 0 && (waiting == nil || d.After < waiting.After) {
			waiting, of = &d, m
		}
	}
	return waiting, of, nil
}

// carryOut writes the failure history before it evicts the pod, because the webhook reads the history when it admits the replacement.
func (r *Reconciler) carryOut(ctx context.Context, s *scope, m signals.Match, d *policy.Decision) (ctrl.Result, error) {
	r.blame(s, d)
	if d.Act == policy.Exhaust {
		if due, err := r.due(ctx, s); err != nil || due {
			return ctrl.Result{RequeueAfter: blockedFor}, err
		}
	}
	wrote, err := r.remember(ctx, s, d)
	switch {
	case apierrors.IsForbidden(err): // moves that cannot be recorded cannot be limited
		r.warn(ctx, s, m, policy.NotMovable,
			fmt.Sprintf("%s on node %s: the rescheduler is not allowed to write annotations of %s %s", m.Reason, s.pod.Spec.NodeName, s.subject.Kind, s.subject.Name))
		return ctrl.Result{RequeueAfter: mayNotWriteFor}, nil
	case err != nil:
		return requeue.OnError(err)
	}
	if wrote {
		if err := r.fillFamily(ctx, s); err != nil {
			return ctrl.Result{}, err
		}
	}
	if err := r.taint(ctx, s); err != nil {
		return ctrl.Result{}, err
	}
	if d.Reason == policy.Recovering {
		r.observed.markRecovering(s.pod.UID)
	}
	if !d.Moves() {
		r.announce(ctx, s, m, d)
		return ctrl.Result{RequeueAfter: d.After}, nil
	}
	step := func(ctx context.Context, s *scope) (outcome, error) { return r.evict(ctx, s.pod, nil) }
	if d.Act == policy.Remake {
		step = r.remake
	}
	node := s.pod.Spec.NodeName
	return r.move(ctx, s, m, d, node, fmt.Sprintf("%s on node %s: ", m.Reason, node), step)
}

// due reports whether the counted move of another pod of the workload is still blocked by a disruption budget. If the workload were marked
// exhausted now, that pod would not be moved although its move is counted. The wait is limited to the time for which a node is excluded
// after its first failure.
func (r *Reconciler) due(ctx context.Context, s *scope) (found bool, err error) {
	charged := sets.New[string]()
	for _, e := range s.memory.Entries {
		moves := func(row signals.Row) bool {
			return row.Name == e.Class && row.Action == signals.Move && s.now.Before(e.Last.Add(row.TTL))
		}
		if slices.ContainsFunc(r.table, moves) {
			charged.Insert(e.Pods...)
		}
	}
	err = r.kin(ctx, s.subject.UID, s.pod.Namespace, func(pod *corev1.Pod) {
		stays := pod.DeletionTimestamp.IsZero() && !ended(pod)
		found = found || pod.UID != s.pod.UID && stays && charged.Has(string(pod.UID))
	})
	return found, err
}

// move moves the pod by the step, if the budgets allow it. node is the one whose budget the move draws on. Warnings begin with the problem.
func (r *Reconciler) move(
	ctx context.Context, s *scope, m signals.Match, d *policy.Decision, node, problem string, step func(context.Context, *scope) (outcome, error),
) (ctrl.Result, error) {
	refund, why, after := r.take(s.budgetKeys(node))
	if refund == nil {
		r.warn(ctx, s, m, policy.LimitReached, problem+why)
		return ctrl.Result{RequeueAfter: after}, nil
	}
	outcome, err := step(ctx, s)
	if outcome != moved {
		refund()
	}
	if err != nil {
		return requeue.OnError(err)
	}
	r.metrics.Inc(series.Moves, string(outcome))
	switch outcome {
	case moved:
		r.announce(ctx, s, m, d)
	case blocked:
		r.warn(ctx, s, m, reasonBlocked, problem+"a PodDisruptionBudget does not allow the eviction yet")
		return ctrl.Result{RequeueAfter: blockedFor}, nil
	case contradicted:
		r.warn(ctx, s, m, policy.NotMovable, problem+"more than one PodDisruptionBudget selects the pod, so it cannot be evicted: keep only one")
	}
	return ctrl.Result{}, nil
}

// take draws on the budgets. refund is nil if a budget is empty. Call refund if the move is not made.
func (r *Reconciler) take(p policy.BudgetKeys) (refund func(), why string, after time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	drawn, why, after := r.budgets.Take(p, r.Clock.Now()) // not s.now, because other workers may have drawn on the budgets since
	if drawn == nil {
		return nil, why, after
	}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		drawn()
	}, "", 0
}

// breakerOpen returns 1 if the circuit breaker is open, and 0 otherwise, for the metric.
func (r *Reconciler) breakerOpen() float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.budgets.Open(r.Clock.Now()) > 0 {
		return 1
	}
	return 0
}

// budgetKeys returns the budgets that a move away from the node draws on.
func (s *scope) budgetKeys(node string) policy.BudgetKeys {
	return policy.BudgetKeys{Workload: string(s.subject.UID), Node: node, Namespace: s.pod.Namespace}
}
