package server

import (
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/healing"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/keys"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/state"
)

// view is what the keeper knows of the rendezvous of a run.
type view struct {
	state     state.State
	unread    bool  // the state exists and cannot be read
	completed int64 // rounds
	changed   time.Time
	closedAt  time.Time
	opened    time.Time   // when the server last opened it; zero: never
	opens     *time.Timer // set while it is closed
}

// keeper observes the rendezvous that agents have begun, by run ID. The server's lock guards it.
type keeper struct {
	views   map[string]*view
	stopped bool
}

func newKeeper() keeper { return keeper{views: map[string]*view{}} }

func (k *keeper) stop() {
	k.stopped = true
	for _, v := range k.views {
		v.disarm()
	}
}

func (v *view) disarm() {
	if v.opens != nil {
		v.opens.Stop()
		v.opens = nil
	}
}

// wrote is called under the lock after a key was written.
func (s *Server) wrote(key string) {
	if k, ok := keys.Parse(key, s.config.RunID); ok && k.State {
		s.observe(k.RunID)
	}
}

// observe reads the state of a rendezvous and acts on changes.
func (s *Server) observe(run string) {
	v := s.keeper.views[run]
	if v == nil {
		v = &view{changed: time.Now()}
		s.keeper.views[run] = v
		s.forgetRuns()
	}
	text, _ := s.store.Get(keys.State(run))
	now, err := state.Parse(string(text))
	before := v.state
	if v.unread = err != nil; v.unread {
		return
	}
	v.state = now
	if now.Round != before.Round || now.Complete != before.Complete || now.Closed != before.Closed ||
		len(now.Participants) != len(before.Participants) || len(now.Waiting) != len(before.Waiting) {
		v.changed = time.Now()
	}
	if now.Complete && (!before.Complete || now.Round != before.Round) {
		s.metrics.rounds.Inc()
		v.completed++
	}
	if now.Round > before.Round {
		oldest := now.Round - keptRounds
		s.forget(func(k keys.Key) bool { return k.RunID == run && k.Round >= 0 && k.Round < oldest })
	}
	s.follow(run, v)
}

// follow arms or disarms the timer that opens a closed rendezvous.
func (s *Server) follow(run string, v *view) {
	if !v.state.Closed || s.keeper.stopped {
		v.disarm()
		return
	}
	if v.opens != nil {
		return
	}
	v.closedAt = time.Now()
	at, _ := s.decide(run, v)
	v.opens = time.AfterFunc(time.Until(at), func() { s.open(run) })
}

func (s *Server) decide(run string, v *view) (time.Time, healing.Reason) {
	ended, all := healing.Ended(s.terminalNames(run, v.state.Round))
	return healing.Decide(healing.Closed{
		At: v.closedAt, Participants: len(v.state.Participants), Ended: ended, AllEnded: all, Opened: v.opened,
	}, s.config.Healing)
}

// open opens a rendezvous that is still closed, unless there is a reason by now to wait for longer.
func (s *Server) open(run string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.keeper.views[run]
	if v == nil || v.opens == nil || s.keeper.stopped {
		return
	}
	at, why := s.decide(run, v)
	if wait := time.Until(at); wait > 0 {
		v.opens.Reset(wait)
		return
	}
	v.opens = nil
	log := s.config.Log.With("run", run, "round", v.state.Round)
	v.opened = time.Now()
	if err := s.reopen(run); err != nil {
		log.Error("opening a closed rendezvous failed", "error", err)
		return
	}
	s.metrics.opened.WithLabelValues(openedLabels[why]).Inc()
	log.Info("closed rendezvous opened", "reason", string(why))
	s.observe(run)
}

// reopen writes the state as open.
func (s *Server) reopen(run string) error {
	text, _ := s.store.Get(keys.State(run))
	opened, err := state.Open(string(text))
	if err != nil {
		return err
	}
	return s.store.Set(keys.State(run), []byte(opened))
}

// terminalNames returns the names of the keys in which the agents of a round say that their workers have ended.
func (s *Server) terminalNames(run string, round int64) (names []string) {
	for _, key := range s.store.Keys() {
		k, ok := keys.Parse(key, s.config.RunID)
		if ok && k.RunID == run && k.Round == round && healing.Terminal(k.Name) {
			names = append(names, k.Name)
		}
	}
	return names
}

// keptRounds is how many rounds before the current one keep their keys: agents of the last round may still report their end.
const keptRounds = 2

// keptRuns is how many runs keep their keys: each restart in place has a run of its own, and agents of the previous one may still report
// their end.
const keptRuns = 3

// forgetRuns removes the keys of all but the runs that changed last.
func (s *Server) forgetRuns() {
	runs := make([]string, 0, len(s.keeper.views))
	for run := range s.keeper.views {
		runs = append(runs, run)
	}
	slices.SortFunc(runs, func(a, b string) int { return s.keeper.views[b].changed.Compare(s.keeper.views[a].changed) })
	for _, old := range runs[min(keptRuns, len(runs)):] {
		s.keeper.views[old].disarm()
		delete(s.keeper.views, old)
		s.forget(func(k keys.Key) bool { return k.RunID == old })
	}
}

func (s *Server) forget(obsolete func(keys.Key) bool) {
	s.store.Sweep(func(key string) bool {
		k, ok := keys.Parse(key, s.config.RunID)
		return ok && obsolete(k)
	})
}
