package simulation

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/coordination/simulation/memory"
)

// store is the address that programs connect to. There is one server behind it, or two while the store is partitioned.
type store struct {
	*world
	first, second *server
	subscribers   []*subscription
	skew          time.Duration // offset of the servers' clock
	foreign       time.Duration // until this time, its functions have a version that the agents do not support
	reads, writes int           // number of calls by agents and leaders
}

// server runs the shipped functions, one call at a time.
type server struct {
	*store
	name      string
	up        bool
	functions *memory.Server
	views     map[string]*view // cached views by JobSet UID, as of write number viewed
	viewed    uint64
	repeats   bool // it is executing a repeated request
}

func newServer(st *store, name string) *server {
	s := &server{store: st, name: name, up: true, views: map[string]*view{}}
	functions, err := memory.NewServer(memory.Options{
		Library: st.mutant.Library,
		Now:     func() time.Time { return beginning.Add(s.now + s.skew) },
		Publish: s.publish,
		Wake:    s.wakeLeader,
	})
	if err != nil {
		panic(err)
	}
	s.functions = functions
	return s
}

// close releases the servers at the end of the history.
func (st *store) close() {
	st.first.functions.Close()
	if st.second != nil {
		st.second.functions.Close()
	}
}

// view returns the stored group, or nil if there is no readable group.
func (s *server) view(uid string) *view {
	if now := s.functions.Writes(); s.viewed != now {
		s.viewed = now
		clear(s.views)
	}
	if v, known := s.views[uid]; known {
		return v
	}
	v := s.look(uid)
	s.views[uid] = v
	return v
}

func (s *server) level(uid string) (rounds.Level, error) {
	s.reads++
	if s.now < s.foreign {
		return rounds.Level{}, coordination.ErrNoGroup
	}
	return s.functions.Level(uid)
}

func (s *server) place(uid string, own rounds.Slot) (rounds.Place, error) {
	s.reads++
	if s.now < s.foreign {
		return rounds.Place{}, coordination.ErrNoGroup
	}
	return s.functions.Place(uid, own)
}

// group reads the group for the leader.
func (s *server) group(uid string) (*rounds.Stored, error) {
	s.reads++
	if v := s.view(uid); v != nil {
		return v.stored, nil
	}
	return s.functions.Read(uid)
}

// call executes an agent's call.
func (s *server) call(p *pod, c rounds.Call) (reply, error) {
	uid := p.job.owner
	if s.mutant.Call != nil {
		c = s.mutant.Call(c)
	}
	if s.now < s.foreign {
		return reply{}, coordination.ErrNoGroup
	}
	before := s.view(uid)
	s.writes++
	text, now, err := s.functions.Call(uid, c)
	s.checked(uid, step{call: c, pod: p, reply: text, repeated: s.repeats, err: err}, before)
	return reply{text, now}, err
}

// release releases a pod from its slot and returns the resulting group.
func (s *server) release(uid string, t coordination.Token, slot rounds.Slot, cause, why string, heir rounds.Slot) (*rounds.Stored, error) {
	before := s.view(uid)
	if before == nil {
		return s.group(uid)
	}
	unit, found := before.UnitOf(slot.Name)
	if !found || before.IsFenced(slot.Pod) && heir == (rounds.Slot{}) && before.givenTo(slot.Name) != slot.Pod {
		return s.group(uid)
	}
	s.writes++
	err := s.functions.Release(uid, t, before.Level, unit, slot, cause, heir)
	s.checked(uid, step{why: why, slot: slot, heir: heir, token: t, err: err}, before)
	if err != nil && !errors.Is(err, coordination.ErrForeignValue) { // if only the holder is forged, the group may still be readable
		return nil, err
	}
	return s.group(uid)
}

// write executes a write by the leader and returns the resulting group. Like the orchestrator, it first drops unreadable data.
func (s *server) write(uid string, w group.Write) (*rounds.Stored, error) {
	if _, err := s.functions.Read(uid); errors.Is(err, coordination.ErrForeignValue) {
		s.drop(uid)
	}
	before := s.view(uid)
	s.writes++
	written, err := s.functions.Set(uid, w.Before, w.State, w.Config, w.Finished, w.Line())
	if err != nil || !written {
		w.Reason = ""
	}
	s.checked(uid, step{why: string(w.Reason), token: w.Config.Token, err: err}, before)
	if err != nil {
		return nil, err
	}
	return s.group(uid)
}

// checked checks the step made by a call. others are the steps of further members that share the call.
func (s *server) checked(uid string, did step, before *view, others ...step) {
	after := s.view(uid)
	switch {
	case after == nil:
		return
	case before == nil:
		s.note(s.name, "%s: created", after.text())
		if _, again := s.truth.rounds[roundKey{uid, after.Generation}]; again {
			s.truth.lost() // the group was lost, or was dropped without a replaced leader noticing
		}
		s.truth.note(uid, after)
		return
	case after.Level != before.Level:
		s.note(s.name, "%s", after.text())
	}
	for _, other := range others {
		s.truth.heard(other, before)
		s.truth.checkHolder(uid, other, before, after)
	}
	s.truth.called(s, uid, did, before, after)
}

func (s *server) drop(uid string) {
	s.writes++
	if !slices.Contains(s.names(), uid) {
		return
	}
	s.functions.Drop(uid)
	s.note(s.name, "drops %s", uid)
}

// publish broadcasts a level with a delay, except to programs that are losing broadcasts.
func (s *server) publish(uid string, o rounds.Observation) {
	s.send(func(sub *subscription) bool { return sub.uid == "" || sub.uid == uid }, o)
}

// wakeLeader notifies the subscribers of all groups.
func (s *server) wakeLeader(string) {
	s.send(func(sub *subscription) bool { return sub.uid == "" }, rounds.Observation{})
}

func (s *server) send(to func(*subscription) bool, o rounds.Observation) {
	for _, sub := range s.subscribers {
		if !sub.open || sub.server != s || !to(sub) || sub.link.cut() || s.now < sub.link.deaf {
			continue
		}
		session := sub.session
		sub.link.owner.later(sub.link.delay()+s.random.between(0, 20*time.Millisecond), func() { sub.receive(session, o) })
	}
}

// names returns the names of the stored groups, in order.
func (s *server) names() []string { return s.functions.Groups() }

// text describes a group.
func (v *view) text() string {
	return fmt.Sprintf("%s, %d of %d joined", levelText(v.Level), v.Joined, v.Size)
}
