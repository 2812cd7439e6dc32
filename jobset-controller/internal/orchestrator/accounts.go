package orchestrator

import (
	"context"
	"errors"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/accounting"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/history"
	"github.com/holdfast-project/holdfast/shared/restart"
)

const (
	// startPatience bounds how long an account waits for the workers to say that they have started. They do within a second,
	// but for those of agents that never say it.
	startPatience = 3 * time.Second
	startLook     = 300 * time.Millisecond
)

// accounts makes each restart one entry of the history and one observation of the metrics, by (uid, epoch, round), however
// often it is seen and whoever leads. What a leader has accounted for is in the annotation; the ledger stands in for an
// annotation that the cache does not show yet.
type accounts struct {
	mu     sync.Mutex
	ledger restart.Ledger
	levels map[types.UID]coordination.Level // at the last look into the history
	waits  map[types.UID]time.Time          // since when a group is in sync whose workers have not all said that they have started
}

// due tells whether to look into the history: the group has moved since the last look, and nobody is waited for.
func (a *accounts) due(uid types.UID, g coordination.Summary, now time.Time) (look bool, again time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if known, ok := a.levels[uid]; ok && known == g.Level {
		return false, 0
	}
	if g.Phase != coordination.Running || g.Record.Starts >= g.Record.Ups {
		delete(a.waits, uid)
		return true, 0
	}
	since, waiting := a.waits[uid]
	if !waiting {
		if a.waits == nil {
			a.waits = map[types.UID]time.Time{}
		}
		a.waits[uid], since = now, now
	}
	if now.Sub(since) < startPatience {
		return false, startLook
	}
	delete(a.waits, uid)
	return true, 0
}

// fresh leaves out what is accounted for.
func (a *accounts) fresh(uid types.UID, last history.Attempt, list []accounting.Account) []accounting.Account {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ledger.Record(string(uid), number(last))
	var fresh []accounting.Account
	for _, one := range list {
		if a.ledger.Counted(string(uid), number(one.Attempt)) {
			continue
		}
		fresh = append(fresh, one)
	}
	return fresh
}

// close notes what is written, and the level that was looked at.
func (a *accounts) close(uid types.UID, l coordination.Level, list []accounting.Account) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.levels == nil {
		a.levels = map[types.UID]coordination.Level{}
	}
	a.levels[uid] = l
	for _, one := range list {
		a.ledger.Record(string(uid), number(one.Attempt))
	}
}

func (a *accounts) forget(uid types.UID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.levels, uid)
	delete(a.waits, uid)
	a.ledger.Forget(string(uid))
}

// number orders the restarts of all epochs of a group. Epochs are 32 bits wide, and so are counts of restarts.
func number(a history.Attempt) int64 { return a.Epoch<<32 | min(a.Round, 1<<32-1) }

// account writes the restarts that have ended since the last look into the JobSet's history, and observes them once that is
// written. A leader that dies in between leaves them out of the metrics; none is ever counted twice.
func (r *Reconciler) account(ctx context.Context, s *scope) error {
	if s.group == nil {
		return nil
	}
	look, again := r.accounts.due(s.js.UID, *s.group, s.now)
	if again > 0 {
		s.lookIn(again)
	}
	if !look {
		return nil
	}
	return r.accountFor(ctx, s, false)
}

// settleAccounts is account for a group that is about to be dropped: nothing follows any more.
func (r *Reconciler) settleAccounts(ctx context.Context, s *scope) error {
	if s.group == nil || !s.js.DeletionTimestamp.IsZero() {
		return nil
	}
	return r.accountFor(ctx, s, true)
}

func (r *Reconciler) accountFor(ctx context.Context, s *scope, over bool) error {
	records, err := r.Store.History(ctx, string(s.js.UID))
	if errors.Is(err, coordination.ErrNoGroup) || errors.Is(err, coordination.ErrForeignValue) {
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
	fresh := r.accounts.fresh(s.js.UID, last, accounting.Of(s.accounted(over), accounting.With(records, s.group.Record)))
	level := s.group.Level
	if len(fresh) > 0 {
		r.locate(ctx, s, fresh)
		if err := r.annotate(ctx, s, map[string]string{history.Annotation: appended(written, fresh)}); err != nil {
			return err
		}
	}
	r.accounts.close(s.js.UID, level, fresh)
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
		barrierWait.Observe(a.Waited.Seconds())
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
