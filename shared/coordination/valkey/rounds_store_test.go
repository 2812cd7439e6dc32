package valkey

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// club is a leader and members of one group on a real server.
type club struct {
	*testing.T
	*server
	Rounds
	want group.Wanted
}

func newClub(t *testing.T) *club {
	t.Helper()
	c := &club{T: t, server: newServer(t)}
	c.Rounds = Rounds{c.server.store(t)}
	c.want = group.Wanted{
		Token: coordination.Token{LeaseCreated: 1}, Generation: 1, Limit: 9, MaxPause: time.Second, Barrier: true,
		Stages: []coordination.Stage{{Prefix: "js-w", Jobs: 2, Pods: 1}},
	}
	return c
}

// lead is one reconcile of the leader. It returns why it wrote; empty: it had nothing to write.
func (c *club) lead() group.Reason {
	c.Helper()
	stored, err := c.Read(c.Context(), uid)
	c.ok(err)
	w, found, err := group.Next(stored, c.want, fmt.Sprint("i", time.Now().UnixNano()))
	c.ok(err)
	if !found {
		return ""
	}
	written, err := c.Set(c.Context(), uid, w.Seq, w.State, w.Config, w.Finished)
	if c.ok(err); !written {
		c.Fatalf("%s: the state has moved on", w.Reason)
	}
	return w.Reason
}

func (c *club) ok(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// call returns the reply and the level after it.
func (c *club) call(call rounds.Call) (string, rounds.Level) {
	c.Helper()
	reply, now, err := c.Call(c.Context(), uid, call)
	c.ok(err)
	return reply, now
}

func (c *club) level() rounds.Level {
	c.Helper()
	stored, err := c.Read(c.Context(), uid)
	c.ok(err)
	return stored.State.Level
}

func slotOf(n int) rounds.Slot {
	return rounds.Slot{Name: fmt.Sprintf("js-w-%d-0", n), Pod: fmt.Sprint("pod-", n)}
}

// join has both workers join the round of the level.
func (c *club) join(attempt int64) rounds.Level {
	c.Helper()
	var now rounds.Level
	for n := range 2 {
		l := c.level()
		m := rounds.Member{Slot: slotOf(n), ID: fmt.Sprint("id-", n, "-", attempt), Attempt: attempt, Past: rounds.Past{Kind: rounds.PastRan}}
		var reply string
		if reply, now = c.call(rounds.Join(l.Incarnation, 0, l.Round, l.Entered, m)); reply != "J" {
			c.Fatalf("a join of slot %d: %s", n, reply)
		}
	}
	return now
}

// TestAGroupOnARealServer goes through the life of a group as leader and agents do.
func TestAGroupOnARealServer(t *testing.T) {
	c := newClub(t)
	if why := c.lead(); why != group.Opens {
		t.Fatalf("an empty store: %q", why)
	}
	if why := c.lead(); why != "" {
		t.Fatalf("a group that is as wanted: %q", why)
	}
	if l := c.join(1); !l.Running() || l.Round != 0 {
		t.Fatalf("both have joined: %s", l)
	}
	l := c.level()
	if _, l = c.call(rounds.Down(l.Incarnation, 0, rounds.Death{Slot: slotOf(0), ID: "id-0-1", Ran: true, Cause: "exit 1"})); !l.Restarting() || l.Round != 1 {
		t.Fatalf("a death: %s", l)
	}
	if missing, err := c.Missing(t.Context(), uid, l, 0, []string{"js-w-0-0", "js-w-1-0"}); err != nil || len(missing) != 2 {
		t.Errorf("missing: %v, %v", missing, err)
	}
	c.join(2)
	lines, err := c.History(t.Context(), uid)
	if err != nil || len(lines) != 1 || lines[0].Slot != "js-w-0-0" || lines[0].Cause != "exit 1" || lines[0].Round != 1 || lines[0].StartedBefore.IsZero() {
		t.Errorf("history: %+v, %v", lines, err)
	}
	c.ok(c.Release(t.Context(), uid, c.want.Token, c.level(), 0, slotOf(1), "pod"))
	if l = c.level(); l.Round != 2 {
		t.Errorf("a pod that cannot run any more: %s", l)
	}
	if reply, _ := c.call(rounds.Join(l.Incarnation, 0, l.Round, 1, rounds.Member{Slot: slotOf(1), ID: "id-1-2", Attempt: 2, Past: rounds.Past{Kind: rounds.PastRan}})); reply != "X" {
		t.Errorf("the fenced pod joins: %s", reply)
	}
	c.want.Suspended = true
	if why := c.lead(); why != group.Closes {
		t.Errorf("suspended: %q", why)
	}
	c.ok(c.Drop(t.Context(), uid))
	if left := c.server.contents(); left != "" {
		t.Errorf("left after the drop:\n%s", left)
	}
}

// TestALostGroupComesBack: the store is emptied; workers that know a later round than the leader are believed.
func TestALostGroupComesBack(t *testing.T) {
	c := newClub(t)
	c.lead()
	c.join(1)
	c.server.do("FLUSHALL")
	if _, _, err := c.Call(t.Context(), uid, rounds.Lost("i1", 0, slotOf(0), 1, 1)); !errors.Is(err, coordination.ErrNoGroup) {
		t.Errorf("a call without functions: %v", err)
	}
	c.want.Round, c.want.Entered, c.want.Finished = 2, 1, []string{"js-w-1-0"}
	if why := c.lead(); why != group.Opens {
		t.Fatalf("a lost group: %q", why)
	}
	l := c.level()
	if _, l = c.call(rounds.Lost(l.Incarnation, 0, slotOf(0), 3, 1)); l.Round != 3 {
		t.Fatalf("a worker knows round 3: %s", l)
	}
	if why := c.lead(); why != group.Knows {
		t.Errorf("the finished worker does not join again: %q", why)
	}
	if _, l = c.call(rounds.Join(l.Incarnation, 0, 3, 1, rounds.Member{Slot: slotOf(0), ID: "id", Attempt: 1, Ran: true, Past: rounds.Past{Kind: rounds.PastRuns}})); !l.Running() || l.Round != 3 {
		t.Errorf("all are there: %s", l)
	}
}

func TestBoundsOfASlot(t *testing.T) {
	c := newClub(t)
	c.lead()
	if b, err := c.Bounds(t.Context(), uid, "js-w-1-0"); err != nil || b.Unit != 0 || b.Jobs != 2 || b.Free {
		t.Errorf("%+v, %v", b, err)
	}
	for _, slot := range []string{"js-w-2-0", "js-v-0-0", "w", "", "js-w-01-0"} {
		if _, err := c.Bounds(t.Context(), uid, slot); !errors.Is(err, coordination.ErrUnknownSlot) {
			t.Errorf("slot %q: %v", slot, err)
		}
	}
	if _, err := c.Bounds(t.Context(), "another", "js-w-1-0"); !errors.Is(err, coordination.ErrNoGroup) {
		t.Errorf("another group: %v", err)
	}
}

// TestARoundIsWatched: what is read, what is published, a loss of the connection, and values that are not levels.
func TestARoundIsWatched(t *testing.T) {
	c := newClub(t)
	ctx, cancel := context.WithCancel(t.Context())
	seen, ended := make(chan rounds.Observation, 100), make(chan struct{})
	go func() {
		defer close(ended)
		c.Watch(ctx, uid, func(o rounds.Observation) { seen <- o })
	}()
	t.Cleanup(func() { cancel(); <-ended })
	next := func(what string, is func(rounds.Observation) bool) {
		t.Helper()
		var all []rounds.Observation
		for {
			select {
			case o := <-seen:
				if is(o) {
					return
				}
				all = append(all, o)
			case <-time.After(10 * time.Second):
				t.Fatalf("%s was not observed; observed: %+v", what, all)
			}
		}
	}
	next("an empty store", func(o rounds.Observation) bool { return o.Read && errors.Is(o.Err, coordination.ErrNoGroup) })
	c.lead()
	next("the opening", func(o rounds.Observation) bool { return !o.Read && o.Level.Forming() })
	c.join(1)
	next("the start", func(o rounds.Observation) bool { return o.Level.Running() })
	c.server.do("PUBLISH", rounds.KeysOf(uid).Channel(), "nonsense")
	next("a foreign message", func(o rounds.Observation) bool { return errors.Is(o.Err, coordination.ErrForeignValue) })
	c.server.stop()
	next("the loss", func(o rounds.Observation) bool {
		return o.Err != nil && !errors.Is(o.Err, coordination.ErrForeignValue)
	})
	c.server.start()
	c.lead()
	next("the group after the restart", func(o rounds.Observation) bool { return o.Level.Forming() })
}

func TestTheLeaderOfBeforeIsRefused(t *testing.T) {
	c := newClub(t)
	c.want.Token.Transitions = 2
	c.lead()
	stored, err := c.Read(t.Context(), uid)
	c.ok(err)
	stored.Config.Token.Transitions = 1
	if _, err := c.Set(t.Context(), uid, stored.State.Seq, stored.State, stored.Config, nil); !errors.Is(err, coordination.ErrStaleLeader) {
		t.Errorf("a write: %v", err)
	}
	if err := c.Release(t.Context(), uid, coordination.Token{LeaseCreated: 1, Transitions: 1}, stored.State.Level, 0, slotOf(0), "pod"); !errors.Is(err, coordination.ErrStaleLeader) {
		t.Errorf("a release: %v", err)
	}
	stored.Config.Token.Transitions = 2
	if written, err := c.Set(t.Context(), uid, stored.State.Seq-1, stored.State, stored.Config, nil); written || err != nil {
		t.Errorf("a write on an old observation: %t, %v", written, err)
	}
}

// What is stored in place of a group is named, and the leader can replace it.
func TestForeignRounds(t *testing.T) {
	for name, spoil := range map[string][]any{
		"text in the state":     {"SET", rounds.KeysOf(uid).State(), "nonsense"},
		"a state of other type": {"HSET", rounds.KeysOf(uid).State(), "a", "b"},
		"a huge state":          {"SETRANGE", rounds.KeysOf(uid).State(), 1 << 20, "x"},
		"another incarnation":   {"HSET", rounds.KeysOf(uid).Config(), "inc", "other", "units", "many"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClub(t)
			c.lead()
			c.server.do("DEL", rounds.KeysOf(uid).State())
			c.server.do(spoil...)
			if slices.Contains([]string{"another incarnation"}, name) {
				c.server.do("SET", rounds.KeysOf(uid).State(), rounds.Fresh(rounds.Level{Incarnation: "i", Phase: rounds.Active, Left: rounds.NoUnits}, 1).String())
			}
			if _, err := c.Read(t.Context(), uid); !errors.Is(err, coordination.ErrForeignValue) {
				t.Errorf("the leader reads: %v", err)
			}
			w, _, err := group.Next(nil, c.want, "i9")
			c.ok(err)
			c.server.do("DEL", rounds.KeysOf(uid).State())
			if written, err := c.Set(t.Context(), uid, w.Seq, w.State, w.Config, nil); err != nil || !written {
				t.Errorf("the leader replaces it: %t, %v", written, err)
			}
		})
	}
}
