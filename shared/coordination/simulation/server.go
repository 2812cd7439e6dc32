package simulation

import (
	"maps"
	"slices"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
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

// server runs the shipped rules of coordination.Group, one call at a time.
type server struct {
	*store
	name   string
	up     bool
	groups map[string]*coordination.Group // by JobSet UID
}

func (s *server) time() int64 { return beginning.Add(s.now + s.skew).UnixMilli() }

func (s *server) level(uid string) (coordination.Level, error) {
	s.reads++
	g := s.groups[uid]
	if g == nil || s.now < s.foreign {
		return coordination.Level{}, coordination.ErrNoGroup
	}
	return g.Level, nil
}

func (s *server) summary(uid string) (coordination.Summary, error) {
	s.reads++
	g := s.groups[uid]
	if g == nil {
		return coordination.Summary{}, coordination.ErrNoGroup
	}
	return g.Summary(), nil
}

func (s *server) missing(uid string) ([]string, error) {
	s.reads++
	g := s.groups[uid]
	if g == nil {
		return nil, coordination.ErrNoGroup
	}
	return g.Missing(), nil
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

// run lets a call change a group, publishes the level if it moved, and has the step checked.
func (s *server) run(uid string, c call, do func(*coordination.Group) error) error {
	if s.mutant.ByName && s.api.current != nil {
		uid = s.api.current.uid
	}
	g := s.groups[uid]
	if g == nil || (c.pod != nil && s.now < s.foreign) {
		return coordination.ErrNoGroup
	}
	s.writes++
	before := s.truth.look(g, c.slot)
	err := do(g)
	if g.Level != before.Level {
		s.note(s.name, "%s: joined %d of %d", g.Level, g.Joined(), g.Size())
		s.publish(uid, g.Level)
	}
	s.truth.called(s, g, c, before, err)
	return err
}

func (s *server) join(p *pod, j coordination.Join) (coordination.Reply, error) {
	var r coordination.Reply
	err := s.run(p.job.owner, call{verb: "join", pod: p, slot: p.slot, instance: j.ID, seen: j.Seen}, func(g *coordination.Group) (err error) {
		if rule := s.mutant.Join; rule != nil {
			r, err = rule(g, j, s.time())
			return err
		}
		r, err = g.Join(j, s.time())
		return err
	})
	s.truth.answered(s, p, j.ID, r, err)
	return r, err
}

func (s *server) down(p *pod, d coordination.Down) (coordination.Reply, error) {
	var r coordination.Reply
	c := call{verb: "down", pod: p, slot: p.slot, instance: d.ID, seen: d.Seen, ordered: d.Ordered}
	err := s.run(p.job.owner, c, func(g *coordination.Group) (err error) {
		if rule := s.mutant.Down; rule != nil {
			r, err = rule(g, d, s.time())
			return err
		}
		r, err = g.Down(d, s.time())
		return err
	})
	if err == nil {
		s.truth.reported(d.ID)
	}
	return r, err
}

func (s *server) ask(p *pod, m coordination.Member, kind string) (coordination.Reply, error) {
	var r coordination.Reply
	err := s.run(p.job.owner, call{verb: "ask", pod: p, slot: p.slot}, func(g *coordination.Group) (err error) {
		r, err = g.Ask(m, kind, s.time())
		return err
	})
	return r, err
}

func (s *server) evict(uid string, t coordination.Token, slot, pod, why string) (coordination.Summary, error) {
	var sum coordination.Summary
	err := s.run(uid, call{verb: why, slot: slot, token: t}, func(g *coordination.Group) error {
		evict := (*coordination.Group).Evict
		if s.mutant.Evict != nil {
			evict = s.mutant.Evict
		}
		err := evict(g, t, slot, pod, s.time())
		sum = g.Summary()
		return err
	})
	return sum, err
}

func (s *server) recreate(uid string, t coordination.Token, epoch, round int64, kind string) (coordination.Summary, error) {
	var sum coordination.Summary
	err := s.run(uid, call{verb: "recreate", token: t}, func(g *coordination.Group) error {
		recreate := (*coordination.Group).Recreate
		if s.mutant.Recreate != nil {
			recreate = s.mutant.Recreate
		}
		err := recreate(g, t, epoch, round, kind)
		sum = g.Summary()
		return err
	})
	return sum, err
}

// openGroup creates the group or makes it what the leader wants.
func (s *server) openGroup(uid string, o coordination.Open) (coordination.Summary, error) {
	o.Stages = slices.Clone(o.Stages)
	if s.groups[uid] == nil {
		s.writes++
		g, err := coordination.NewGroup(o, s.time())
		if err != nil {
			return coordination.Summary{}, err
		}
		s.groups[uid] = g
		s.note(s.name, "%s: created", g.Level)
		s.publish(uid, g.Level)
		s.truth.opened(uid, g)
		return g.Summary(), nil
	}
	var sum coordination.Summary
	err := s.run(uid, call{verb: "open", token: o.Token}, func(g *coordination.Group) error {
		open := (*coordination.Group).Open
		if s.mutant.Open != nil {
			open = s.mutant.Open
		}
		err := open(g, o, s.time())
		sum = g.Summary()
		return err
	})
	return sum, err
}

func (s *server) drop(uid string, t coordination.Token) error {
	s.writes++
	g := s.groups[uid]
	if g == nil {
		return nil
	}
	if t.Less(g.Token) {
		return coordination.ErrStaleLeader
	}
	s.note(s.name, "drops %s", uid)
	delete(s.groups, uid)
	return nil
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
func (s *server) names() []string { return slices.Sorted(maps.Keys(s.groups)) }
