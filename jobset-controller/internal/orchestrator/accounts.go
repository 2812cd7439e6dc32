package orchestrator

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/accounting"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/history"
)

// accountMemory is what was accounted for: each restart becomes one entry of the history and one observation of the metrics, however
// often it is observed and by any leader. The numbers stand in for an annotation that the cache does not show yet.
type accountMemory struct {
	counted int64        // number of the last restart that was accounted for
	level   rounds.Level // when the history was last read; without a phase: it was not
}

// fresh leaves out what is accounted for.
func (a *accountMemory) fresh(last history.Attempt, list []accounting.Account) []accounting.Account {
	a.counted = max(a.counted, number(last))
	return slices.DeleteFunc(list, func(one accounting.Account) bool { return number(one.Attempt) <= a.counted })
}

// close notes what is written, and the level at which the history was read.
func (a *accountMemory) close(l rounds.Level, list []accounting.Account) {
	a.level = l
	for _, one := range list {
		a.counted = max(a.counted, number(one.Attempt))
	}
}

// number orders the restarts of all epochs of a group. Epochs are 32 bits wide, and so are counts of restarts.
func number(a history.Attempt) int64 { return a.Epoch<<32 | min(a.Round, 1<<32-1) }

// account writes the restarts that have ended since the last look into the JobSet's history, and observes them once that is
// written. A leader that dies in between leaves them out of the metrics; none is ever counted twice.
func (r *Reconciler) account(ctx context.Context, s *scope) error {
	if s.group == nil {
		return nil
	}
	if s.state.account.level == s.group.Level {
		return nil // nothing has changed since
	}
	if pause := s.pauseLeft(); pause > 0 {
		s.lookIn(pause)
		return nil
	}
	return r.accountFor(ctx, s, false)
}

// pauseLeft is how long the workers wait before they start; none if the store's clock is ahead of ours, which would take it for longer than it is.
func (s *scope) pauseLeft() time.Duration {
	left := time.UnixMilli(s.group.Record.InSyncAt).Sub(s.now)
	if s.group.Phase != coordination.Running || left > s.group.Level.Pause {
		return 0
	}
	return left
}

// settleAccounts is account for a group that is about to be dropped: nothing follows any more.
func (r *Reconciler) settleAccounts(ctx context.Context, s *scope) error {
	if s.group == nil || !s.js.DeletionTimestamp.IsZero() {
		return nil
	}
	return r.accountFor(ctx, s, true)
}

func (r *Reconciler) accountFor(ctx context.Context, s *scope, over bool) error {
	lines, err := r.Store.History(ctx, string(s.js.UID))
	if errors.Is(err, coordination.ErrForeignValue) {
		return nil // the next reconcile reads the group anew
	}
	if err != nil {
		return storeFailed(err)
	}
	written, err := history.Parse(s.js.Annotations[history.Annotation])
	if err != nil {
		log.FromContext(ctx).Error(err, "a part of the restart history is unreadable; it is left out")
	}
	var last history.Attempt
	if n := len(written); n > 0 {
		last = written[n-1].Attempt
	}
	fresh := s.state.account.fresh(last, accounting.Of(s.accounted(over), group.Records(s.stored, lines)))
	level := s.group.Level
	if len(fresh) > 0 {
		r.locate(ctx, s, fresh)
		if err := r.annotate(ctx, s, map[string]string{history.Annotation: appended(written, fresh)}); err != nil {
			return err
		}
	}
	s.state.account.close(level, fresh)
	for _, one := range fresh {
		r.observeRestart(s, one)
	}
	return nil
}

func (s *scope) accounted(over bool) accounting.Group {
	return accounting.Group{
		JobSet: s.js.Name, Epoch: s.epoch, Over: over, PolicyPrefix: policy.RestartCausePrefix,
		PolicyCounted: s.js.Status.Restarts == s.js.Status.RestartsCountTowardsMax,
	}
}

func appended(written []history.Entry, fresh []accounting.Account) string {
	for _, one := range fresh {
		written = append(written, one.Entry)
	}
	return history.Format(written)
}

// locate finds where a worker is whose agent did not say so. A restart in place keeps its pod.
func (r *Reconciler) locate(ctx context.Context, s *scope, list []accounting.Account) {
	for i, one := range list {
		if one.Slot == "" || one.Place.Node != "" {
			continue
		}
		if err := r.readPods(ctx, s); err != nil {
			return
		}
		if pod := s.pods[one.Slot]; pod != nil && one.Kind == history.InPlace && one.Cause.Kind != coordination.KindPod {
			list[i] = one.At(coordination.Place{PodName: pod.Name, Node: pod.Spec.NodeName})
		}
	}
}

// observeRestart puts one restart into the metrics, and says so.
func (r *Reconciler) observeRestart(s *scope, a accounting.Account) {
	reason := reasonLabel(a.Cause.Kind)
	if a.Cause.Kind != accounting.KindPolicy { // the controller has decided that one, and counts it
		restarts.WithLabelValues(a.Kind, reason, boolLabel(a.Counted)).Inc()
	}
	for _, phase := range history.Phases {
		restartSeconds.WithLabelValues(a.Kind, phase.String()).Observe(a.Took[phase].Seconds())
	}
	lostSeconds.WithLabelValues(reason).Add(a.Lost().Seconds() * float64(s.group.Size))
	if a.Kind == history.InPlace {
		roundsEnded.WithLabelValues(outcome(a.Ended)).Inc()
	}
	if a.Ended == history.Running {
		r.event(s, corev1.EventTypeNormal, eventRestarted, "all %d workers run again, %s after %s (%s)",
			s.group.Size, a.Lost(), accountText(a), phasesText(a))
	}
}

func outcome(e history.End) string {
	switch e {
	case history.Overtaken:
		return "overtaken"
	case history.GivenUp:
		return "given_up"
	}
	return "in_sync"
}
