package simulation

import (
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/memory"
)

// store is what stands behind the address that programs connect to: one server, two for a while if a partition splits it.
type store struct {
	*world
	first, second *server
	subscribers   []*subscription
	skew          time.Duration // of the servers' clock
	foreign       time.Duration // until then its functions are of a version that the agents do not speak
	reads, writes int           // calls of agents and leaders
}

// server runs the shipped functions, one call at a time.
type server struct {
	*store
	name      string
	up        bool
	functions *memory.Server
	views     map[string]*memory.Group // by JobSet UID: what is stored, as it was read since the last change
}

func newServer(st *store, name string) *server {
	s := &server{store: st, name: name, up: true, views: map[string]*memory.Group{}}
	functions, err := memory.NewServer(memory.Options{
		Library: st.mutant.Library,
		Now:     func() time.Time { return beginning.Add(s.now + s.skew) },
		Publish: s.publish,
	})
	if err != nil {
		panic(err)
	}
	s.functions = functions
	return s
}

// view is what is stored of a group, nil if nothing is.
func (s *server) view(uid string) *memory.Group {
	if g, known := s.views[uid]; known {
		return g
	}
	g, err := s.functions.Group(uid)
	if err != nil {
		s.fail("S5", "the functions wrote what they cannot read: %v", err)
		g = &memory.Group{}
	}
	s.views[uid] = g
	return g
}

func (s *server) level(uid string) (coordination.Level, error) {
	s.reads++
	g := s.view(uid)
	if g == nil || s.now < s.foreign {
		return coordination.Level{}, coordination.ErrNoGroup
	}
	return g.Level, nil
}

func (s *server) summary(uid string) (coordination.Summary, error) {
	s.reads++
	g := s.view(uid)
	if g == nil {
		return coordination.Summary{}, coordination.ErrNoGroup
	}
	return g.Summary, nil
}

func (s *server) missing(uid string) ([]string, error) {
	s.reads++
	return s.functions.Missing(uid)
}

// call is who asks for what: what the checks need to know beside the states before and after.
type call struct {
	verb     string
	pod      *pod // nil: the leader
	slot     string
	instance string
	token    coordination.Token
	seen     coordination.Seen
	ordered  bool
}

// run makes a call and has the step that it takes checked.
func run[T any](s *server, uid string, c call, do func(uid string) (T, error)) (T, error) {
	if s.mutant.ByName && s.api.current != nil {
		uid = s.api.current.uid
	}
	g := s.view(uid)
	if g == nil || (c.pod != nil && s.now < s.foreign) {
		var none T
		return none, coordination.ErrNoGroup
	}
	s.writes++
	before := s.truth.look(g, c.slot)
	result, err := do(uid)
	delete(s.views, uid)
	g = s.view(uid)
	if g.Level != before.Level {
		s.note(s.name, "%s: joined %d of %d", g.Level, g.Joined, g.Size)
	}
	s.truth.called(s, uid, g, c, before, err)
	return result, err
}

func (s *server) join(p *pod, j coordination.Join) (coordination.Reply, error) {
	c := call{verb: "join", pod: p, slot: p.slot, instance: j.ID, seen: j.Seen}
	if s.mutant.Join != nil {
		j = s.mutant.Join(j)
	}
	r, err := run(s, p.job.owner, c, func(uid string) (coordination.Reply, error) { return s.functions.Join(uid, j) })
	s.truth.answered(s, p, j.ID, r, err)
	return r, err
}

func (s *server) down(p *pod, d coordination.Down) (coordination.Reply, error) {
	c := call{verb: "down", pod: p, slot: p.slot, instance: d.ID, seen: d.Seen, ordered: d.Ordered}
	r, err := run(s, p.job.owner, c, func(uid string) (coordination.Reply, error) { return s.functions.Down(uid, d) })
	if err == nil {
		s.truth.reported(d.ID)
	}
	return r, err
}

func (s *server) ask(p *pod, m coordination.Member, kind string) (coordination.Reply, error) {
	c := call{verb: "ask", pod: p, slot: p.slot}
	return run(s, p.job.owner, c, func(uid string) (coordination.Reply, error) { return s.functions.Ask(uid, m, kind) })
}

func (s *server) evict(uid string, t coordination.Token, slot, pod, why string) (coordination.Summary, error) {
	c := call{verb: why, slot: slot, token: t}
	return run(s, uid, c, func(uid string) (coordination.Summary, error) { return s.functions.Evict(uid, t, slot, pod) })
}

func (s *server) recreate(uid string, t coordination.Token, epoch, round int64, kind string) (coordination.Summary, error) {
	c := call{verb: "recreate", token: t}
	return run(s, uid, c, func(uid string) (coordination.Summary, error) {
		return s.functions.Recreate(uid, t, epoch, round, kind)
	})
}

// openGroup creates the group or makes it what the leader wants.
func (s *server) openGroup(uid string, o coordination.Open) (coordination.Summary, error) {
	if s.view(uid) != nil {
		c := call{verb: "open", token: o.Token}
		return run(s, uid, c, func(uid string) (coordination.Summary, error) { return s.functions.Open(uid, o) })
	}
	s.writes++
	summary, err := s.functions.Open(uid, o)
	if err != nil {
		return coordination.Summary{}, err
	}
	delete(s.views, uid)
	s.note(s.name, "%s: created", summary.Level)
	s.truth.opened(uid, s.view(uid))
	return summary, nil
}

func (s *server) drop(uid string, t coordination.Token) error {
	s.writes++
	if s.view(uid) == nil {
		return nil
	}
	if err := s.functions.Drop(uid, t); err != nil {
		return err
	}
	delete(s.views, uid)
	s.note(s.name, "drops %s", uid)
	return nil
}

// restore sets the server back to what a dump holds.
func (s *server) restore(d memory.Dump) {
	s.functions.Restore(d)
	clear(s.views)
}

// publish broadcasts a level: late, and not at all to those who cannot hear.
func (s *server) publish(uid string, level coordination.Level) {
	for _, sub := range s.subscribers {
		if !sub.open || sub.server != s || (sub.uid != "" && sub.uid != uid) {
			continue
		}
		if sub.link.cut() || s.now < sub.link.deaf {
			continue
		}
		session := sub.session
		sub.link.owner.later(sub.link.delay()+s.random.between(0, 20*time.Millisecond), func() { sub.receive(session, level) })
	}
}

// names of the stored groups, in order.
func (s *server) names() []string { return s.functions.Groups() }
