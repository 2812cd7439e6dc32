package orchestrator

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/restart"
)

// accounts makes each restart one observation of the metrics, by (uid, epoch, round), however often it is seen.
type accounts struct {
	mu     sync.Mutex
	ledger restart.Ledger
	levels map[types.UID]coordination.Level // at the last look into the history

	announced restart.Ledger // restarts whose end was told by an event
}

// announce tells whether the end of a restart is to be told. The condition alone does not say: a stale cache shows the one
// from before.
func (a *accounts) announce(uid types.UID, r coordination.Record) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.announced.Record(string(uid), attempt(r))
}

// news tells whether the group has moved since the last look, and whether this is the first one.
func (a *accounts) news(uid types.UID, l coordination.Level) (moved, first bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	known, ok := a.levels[uid]
	return !ok || known != l, !ok
}

// record returns the records that were not counted before, and remembers the level they were read at.
func (a *accounts) record(uid types.UID, l coordination.Level, history []coordination.Record) []coordination.Record {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.levels == nil {
		a.levels = map[types.UID]coordination.Level{}
	}
	a.levels[uid] = l
	var fresh []coordination.Record
	for _, record := range history {
		if record.Round > 0 && a.ledger.Record(string(uid), attempt(record)) {
			fresh = append(fresh, record)
		}
	}
	return fresh
}

func (a *accounts) forget(uid types.UID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.levels, uid)
	a.ledger.Forget(string(uid))
	a.announced.Forget(string(uid))
}

// attempt orders the rounds of all epochs of a group. Epochs are 32 bits wide, and so are counts of restarts.
func attempt(r coordination.Record) int64 { return r.Epoch<<32 | min(r.Round, 1<<32-1) }

// account observes the restarts that have ended since the last look: those in sync, and those that were given up.
func (r *Reconciler) account(ctx context.Context, s *scope) error {
	if s.group == nil {
		r.accounts.forget(s.js.UID)
		return nil
	}
	moved, first := r.accounts.news(s.js.UID, s.group.Level)
	if !moved {
		return nil
	}
	history, err := r.Store.History(ctx, string(s.js.UID))
	if errors.Is(err, coordination.ErrNoGroup) || errors.Is(err, coordination.ErrForeignValue) {
		return nil // the next reconcile reads the group anew
	}
	if err != nil {
		return storeFailed(err)
	}
	for _, record := range r.accounts.record(s.js.UID, s.group.Level, history) {
		if !first || !s.accounted(record) {
			observe(record)
		}
	}
	return nil
}

// accounted tells whether the leader before this one has observed a record: it has charged it, and has written the
// condition since. That may leave one out when a leader dies in between, and never counts one twice.
func (s *scope) accounted(record coordination.Record) bool {
	inSync := meta.FindStatusCondition(s.before, ConditionInSync)
	charged := record.Epoch < int64(s.epoch.Epoch) || restart.Charged(s.epoch.Base, record.Round) <= s.chargedBefore
	if inSync == nil || !charged {
		return false
	}
	ended := time.UnixMilli(max(record.InSyncAt, record.LastUpAt, record.LastDownAt, record.ReportedAt)).Truncate(time.Second)
	return inSync.Status == "True" || !ended.After(inSync.LastTransitionTime.Time)
}

// observe puts one restart into the metrics. A time that is missing, as of a step that was not reached, is left out.
func observe(r coordination.Record) {
	outcome := "in_sync"
	if r.InSyncAt == 0 {
		outcome = "given_up"
	}
	roundsEnded.WithLabelValues(outcome).Inc()
	steps := []struct {
		phase    string
		from, to int64
	}{
		{"detect", r.FailedAt, r.DetectedAt},
		{"order", r.DetectedAt, r.ReportedAt},
		{"down", r.ReportedAt, r.LastDownAt},
		{"up", r.LastDownAt, r.LastUpAt},
		{"sync", r.LastUpAt, r.InSyncAt},
		{"total", r.ReportedAt, r.InSyncAt},
	}
	for _, step := range steps {
		if step.from > 0 && step.to > 0 {
			took := time.Duration(max(0, step.to-step.from)) * time.Millisecond // two clocks may disagree
			restartSeconds.WithLabelValues(step.phase).Observe(took.Seconds())
		}
	}
}
