package server

import (
	"errors"
	"path"
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/healing"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/jobs"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/state"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/tree"
)

// view is what the keeper knows of a rendezvous.
type view struct {
	state    state.State
	unread   bool // the state is there and cannot be read
	changed  time.Time
	closedAt time.Time
	opened   time.Time   // last, by us; zero: never
	opens    *time.Timer // set while it is closed
}

// keeper watches over the rendezvous that agents have begun. The server's lock guards it.
type keeper struct {
	views   map[jobs.Rendezvous]*view
	stopped bool
}

func newKeeper() keeper { return keeper{views: map[jobs.Rendezvous]*view{}} }

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

// wrote is called after a key was written or deleted, under the lock.
func (s *Server) wrote(ref jobs.Ref) {
	if ref.State {
		s.look(ref.Rendezvous)
	}
}

// look reads the state of a rendezvous, and does what follows from a change.
func (s *Server) look(r jobs.Rendezvous) {
	v := s.keeper.views[r]
	if v == nil {
		v = &view{changed: time.Now()}
		s.keeper.views[r] = v
		s.forgetRuns(r)
	}
	now, err := s.current(r, v.state)
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
	}
	if now.Round > before.Round {
		s.forgetRounds(r, now.Round-keptRounds)
	}
	s.follow(r, v)
}

// follow arms or disarms the timer that opens a closed rendezvous.
func (s *Server) follow(r jobs.Rendezvous, v *view) {
	if !v.state.Closed || s.keeper.stopped {
		v.disarm()
		return
	}
	if v.opens != nil {
		return
	}
	v.closedAt = time.Now()
	at, _ := s.decide(r, v)
	v.opens = time.AfterFunc(time.Until(at), func() { s.open(r) })
}

func (s *Server) decide(r jobs.Rendezvous, v *view) (time.Time, healing.Reason) {
	ended, all := healing.Ended(s.names(r, v.state.Round))
	return healing.Decide(healing.Closed{
		At: v.closedAt, Participants: len(v.state.Participants), Ended: ended, AllEnded: all, Opened: v.opened,
	}, s.config.Healing)
}

// open opens a rendezvous that is still closed, unless there is a reason by now to wait for longer.
func (s *Server) open(r jobs.Rendezvous) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.keeper.views[r]
	if v == nil || v.opens == nil || s.keeper.stopped {
		return
	}
	at, why := s.decide(r, v)
	if wait := time.Until(at); wait > 0 {
		v.opens.Reset(wait)
		return
	}
	v.opens = nil
	log := s.config.Log.With("job", r.Job, "protocol", string(r.Protocol), "round", v.state.Round)
	v.opened = time.Now()
	if err := s.reopen(r); err != nil {
		log.Error("a closed rendezvous cannot be opened", "error", err)
		return
	}
	s.metrics.opened.WithLabelValues(openedLabels[why]).Inc()
	log.Info("a closed rendezvous is opened", "reason", string(why))
	s.look(r)
}

// stateTTL is what the backend etcd-v2 gives its state, and stepTTL what the backend etcd gives a state on the way to being final.
const (
	stateTTL = 2 * time.Hour
	stepTTL  = 10 * time.Second
)

// reopen writes the state as open.
func (s *Server) reopen(r jobs.Rendezvous) error {
	text, _ := s.stateText(r)
	if r.Protocol == jobs.Etcd {
		return s.reopenLegacy(r, text)
	}
	opened, err := state.OpenDynamic(text)
	if err != nil {
		return err
	}
	if r.Protocol == jobs.C10d {
		return s.flat.Set(r.Job, r.StateKey(), []byte(opened))
	}
	ttl := stateTTL
	_, err = s.tree.Put(time.Now(), r.Job, tree.Write{Path: r.StateKey(), Value: opened, TTL: &ttl})
	s.scheduleExpiry()
	return err
}

func (s *Server) reopenLegacy(r jobs.Rendezvous, text string) error {
	opened, ephemeral, err := state.OpenLegacy(text)
	if err != nil {
		return err
	}
	defer s.scheduleExpiry()
	if opened == "" {
		_, err = s.tree.Delete(time.Now(), tree.Removal{Path: r.StateKey()})
		return err
	}
	w := tree.Write{Path: r.StateKey(), Value: opened}
	if ephemeral {
		ttl := stepTTL
		w.TTL = &ttl
	}
	_, err = s.tree.Put(time.Now(), r.Job, w)
	return err
}

// current is the state as it is stored. One that is gone has no participants, and keeps the round.
func (s *Server) current(r jobs.Rendezvous, last state.State) (state.State, error) {
	text, ok := s.stateText(r)
	switch {
	case !ok:
		return state.State{Round: last.Round}, nil
	case r.Protocol == jobs.Etcd:
		now, err := state.Legacy(text)
		if now.Round == 0 { // a state that is being set up says no round
			now.Round = last.Round
		}
		return now, err
	default:
		return state.Dynamic(text)
	}
}

func (s *Server) stateText(r jobs.Rendezvous) (string, bool) {
	if r.Protocol == jobs.C10d {
		value, ok := s.flat.Get(r.StateKey())
		return string(value), ok
	}
	event, err := s.tree.Get(time.Now(), r.StateKey(), false)
	if err != nil {
		return "", false
	}
	return event.Node.Value, true
}

// names are those of the keys that the agents of a round have written, as they call them.
func (s *Server) names(r jobs.Rendezvous, round int64) (names []string) {
	keep := func(ref jobs.Ref, ok bool) {
		if ok && ref.Rendezvous == r && ref.Round == round && healing.Terminal(ref.Name) {
			names = append(names, ref.Name)
		}
	}
	if r.Protocol == jobs.C10d {
		for _, key := range s.flat.Keys(r.Job) {
			keep(s.config.Jobs.Flat(key))
		}
		return names
	}
	folder := jobs.StoreFolder
	if r.Protocol == jobs.Etcd {
		folder = r.RoundFolder(round) + "/kv"
	}
	for _, p := range s.children(folder) {
		keep(s.config.Jobs.Tree(p))
	}
	return names
}

func (s *Server) children(folder string) (paths []string) {
	event, err := s.tree.Get(time.Now(), folder, false)
	var refused *tree.Error
	if errors.As(err, &refused) {
		return nil
	}
	for _, child := range event.Node.Children {
		paths = append(paths, child.Path)
	}
	return paths
}

// keptRounds is how many rounds before the current one keep their keys: agents of the last one may still say that they have ended.
const keptRounds = 2

// keptRuns of a job keep their keys: each restart in place has a run of its own, and agents of the one before may still say that they have
// ended.
const keptRuns = 3

// forgetRuns removes the keys of the runs of a job whose state has not changed for longest, when another has begun.
func (s *Server) forgetRuns(begun jobs.Rendezvous) {
	var runs []jobs.Rendezvous
	for r := range s.keeper.views {
		if r.Job == begun.Job && r.Protocol == begun.Protocol {
			runs = append(runs, r)
		}
	}
	slices.SortFunc(runs, func(a, b jobs.Rendezvous) int {
		return s.keeper.views[b].changed.Compare(s.keeper.views[a].changed)
	})
	for _, old := range runs[min(keptRuns, len(runs)):] {
		s.keeper.views[old].disarm()
		delete(s.keeper.views, old)
		s.forgetRun(old)
	}
}

func (s *Server) forgetRun(r jobs.Rendezvous) {
	of := func(ref jobs.Ref, ok bool) bool { return ok && ref.Rendezvous == r }
	switch r.Protocol {
	case jobs.C10d:
		s.flat.Sweep(r.Job, func(key string) bool { return of(s.config.Jobs.Flat(key)) })
	case jobs.EtcdV2:
		s.forgetPaths(append(s.children(jobs.StoreFolder), r.StateKey()), of)
	case jobs.Etcd:
		s.forgetPaths([]string{path.Dir(r.RunFolder())}, of)
	}
}

// forgetRounds removes the keys of rounds before one, which nobody reads any more.
func (s *Server) forgetRounds(r jobs.Rendezvous, before int64) {
	old := func(ref jobs.Ref, ok bool) bool {
		return ok && ref.Rendezvous == r && ref.Round >= 0 && ref.Round < before
	}
	switch r.Protocol {
	case jobs.C10d:
		s.flat.Sweep(r.Job, func(key string) bool { return old(s.config.Jobs.Flat(key)) })
		return
	case jobs.EtcdV2:
		s.forgetPaths(s.children(jobs.StoreFolder), old)
	case jobs.Etcd:
		s.forgetPaths(s.children(r.RunFolder()), old)
	}
}

func (s *Server) forgetPaths(paths []string, old func(jobs.Ref, bool) bool) {
	for _, p := range paths {
		if old(s.config.Jobs.Tree(p)) {
			_, _ = s.tree.Delete(time.Now(), tree.Removal{Path: p, Recursive: true})
		}
	}
}
