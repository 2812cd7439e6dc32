package server

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/state"
	"github.com/holdfast-project/holdfast/shared/series"
)

// run is the observed state of one rendezvous.
type run struct {
	state     state.State
	message   string // set if the state exists but cannot be parsed
	completed int64  // rounds
	changed   time.Time
	closedAt  time.Time // zero while the rendezvous is open
}

// wrote handles the write of a key. The caller holds the lock.
func (s *Server) wrote(key string) {
	if k, ok := state.ParseKey(key, s.config.RunID); ok && k.Round < 0 {
		s.observe(k.RunID)
	}
}

// observe parses the state of a rendezvous and handles changes.
func (s *Server) observe(id string) {
	r := s.runs[id]
	if r == nil {
		r = &run{changed: time.Now()}
		s.runs[id] = r
		s.dropOldRuns()
	}
	text := s.store.values[state.KeyOf(id)]
	now, err := state.Parse(string(text))
	before := r.state
	if err != nil {
		r.message = "the server cannot parse the rendezvous state of this PyTorch version"
		return
	}
	r.state, r.message = now, ""
	if now != before {
		r.changed = time.Now()
	}
	if now.Complete && (!before.Complete || now.Round != before.Round) {
		s.metrics.Inc(series.RendezvousRounds)
		r.completed++
	}
	if now.Round > before.Round {
		oldest := now.Round - keptRounds
		s.dropKeys(func(k state.Key) bool { return k.RunID == id && k.Round >= 0 && k.Round < oldest })
	}
	switch {
	case !now.Closed:
		r.closedAt = time.Time{}
	case r.closedAt.IsZero():
		r.closedAt = time.Now()
		s.reopen(id)
	}
}

// In torch a closed rendezvous stays closed. An agent closes it when it leaves (torch 2.3 to 2.7) or has exhausted its restarts (all
// versions). All other agents, including replacements, then fail at the next rendezvous. This is wrong if the job should continue, so the
// server reopens the rendezvous. However, agents also close it when the training is complete. In this case it must stay closed long enough
// for waiting agents to learn that there will be no further round.

// Reasons to reopen a rendezvous, which are values of a metric's label.
const (
	// agentLeft means that an agent closed the rendezvous while others were still training.
	agentLeft = "left"
	// jobNotDone means that all agents have terminated, but the job has not finished.
	jobNotDone = "not_done"
)

// Agents write keys with the prefix terminal when their workers have terminated. Up to torch 2.5 there is one key per rank. Later versions
// use a counter, and the last agent writes the key named by last.
const (
	terminal = "torchelastic/agent/terminal_state"
	last     = terminal + "/last_member"
)

// allEnded reports whether all agents of a round have terminated, based on the names of its keys.
func allEnded(names []string, participants int) bool {
	n := 0
	for _, name := range names {
		rank, found := strings.CutPrefix(name, terminal)
		if _, err := strconv.ParseUint(rank, 10, 31); found && err == nil {
			n++
		}
	}
	return participants > 0 && n >= participants || slices.Contains(names, last)
}

// reopening returns when to reopen a closed rendezvous, and why.
func (s *Server) reopening(id string, r *run) (time.Time, string) {
	var names []string
	for key := range s.store.values {
		if k, ok := state.ParseKey(key, s.config.RunID); ok && k.RunID == id && k.Round == r.state.Round {
			names = append(names, k.Name)
		}
	}
	if allEnded(names, r.state.Participants) {
		return r.closedAt.Add(s.config.Grace), jobNotDone
	}
	return r.closedAt, agentLeft
}

// reopen reopens a rendezvous that is still closed: immediately, or later if it is too early. The caller holds the lock.
func (s *Server) reopen(id string) {
	r := s.runs[id]
	if r == nil || r.closedAt.IsZero() {
		return
	}
	at, reason := s.reopening(id, r)
	if wait := time.Until(at); wait > 0 {
		time.AfterFunc(wait, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.reopen(id)
		})
		return
	}
	log := s.config.Log.With("run", id, "round", r.state.Round)
	r.closedAt = time.Time{}
	opened, err := state.Open(string(s.store.values[state.KeyOf(id)]))
	if err == nil {
		err = s.store.set(state.KeyOf(id), []byte(opened))
	}
	if err != nil {
		log.Error("failed to reopen the rendezvous", "error", err)
		return
	}
	s.metrics.Inc(series.RendezvousOpened, reason)
	log.Info("rendezvous reopened", "reason", reason)
	s.observe(id)
}

// keptRounds is the number of previous rounds whose keys are kept, because agents of the last round may still write terminal keys.
const keptRounds = 2

// keptRuns is the number of runs whose keys are kept. Each in-place restart creates a new run, and agents of the previous run may still
// write terminal keys.
const keptRuns = 3

// dropOldRuns removes all runs and their keys, except for the most recently changed ones.
func (s *Server) dropOldRuns() {
	ids := slices.SortedFunc(maps.Keys(s.runs), func(a, b string) int {
		return s.runs[b].changed.Compare(s.runs[a].changed)
	})
	for _, id := range ids[min(keptRuns, len(ids)):] {
		delete(s.runs, id)
		s.dropKeys(func(k state.Key) bool { return k.RunID == id })
	}
}

// dropKeys removes the keys for which obsolete returns true.
func (s *Server) dropKeys(obsolete func(state.Key) bool) {
	for key := range s.store.values {
		if k, ok := state.ParseKey(key, s.config.RunID); ok && obsolete(k) {
			s.store.delete(key)
		}
	}
}
