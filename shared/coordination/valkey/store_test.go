package valkey

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// club consists of a leader and the members of one group on a real server.
type club struct {
	*testing.T
	*server
	*Store
	want group.Wanted
}

func newClub(t *testing.T) *club {
	t.Helper()
	c := &club{T: t, server: newServer(t)}
	c.Store = c.server.store(t)
	c.want = group.Wanted{
		Token: coordination.Token{LeaseCreated: 1}, Generation: 1, Limit: 9, MaxPause: time.Second, Barrier: true,
		Stages: []coordination.Stage{{Prefix: "js-w", Jobs: 1, Pods: 2}},
	}
	return c
}

// lead runs one reconcile of the leader. It returns why the leader wrote the group, or "" if there was nothing to write.
func (c *club) lead() group.Reason {
	c.Helper()
	stored, err := c.Read(c.Context(), uid)
	c.ok(err)
	w, found, err := group.Next(stored, c.want, fmt.Sprint("i", time.Now().UnixNano()))
	c.ok(err)
	if !found {
		return ""
	}
	written, err := c.Set(c.Context(), uid, w.Before, w.State, w.Config, w.Finished, nil)
	if c.ok(err); !written {
		c.Fatalf("%s: the state has changed in the meantime", w.Reason)
	}
	return w.Reason
}

func (c *club) ok(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// call makes a call and returns the reply and the level after it.
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

// join makes both workers join the current round.
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

// The test takes a group through its whole life cycle, acting as the leader and the agents.
func TestGroupOnARealServer(t *testing.T) {
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
	if joined, err := c.Look(t.Context(), uid, rounds.KeysOf(uid).Joined(l, 0), []string{"js-w-0-0", "js-w-0-1"}); err != nil || len(joined) != 0 {
		t.Errorf("joined: %v, %v", joined, err)
	}
	c.join(2)
	lines, err := c.History(t.Context(), uid)
	if err != nil || len(lines) != 1 || lines[0].Slot != "js-w-0-0" || lines[0].Cause != "exit 1" || lines[0].Round != 1 || lines[0].StartedBefore.IsZero() {
		t.Errorf("history: %+v, %v", lines, err)
	}
	c.ok(c.Release(t.Context(), uid, c.want.Token, c.level(), 0, slotOf(1), "w-0 pod", rounds.Slot{}))
	if l = c.level(); l.Round != 2 {
		t.Errorf("a pod that can no longer run: %s", l)
	}
	if reply, _ := c.call(rounds.Join(l.Incarnation, 0, l.Round, 1, rounds.Member{Slot: slotOf(1), ID: "id-1-2", Attempt: 2, Past: rounds.Past{Kind: rounds.PastRan}})); reply != "X" {
		t.Errorf("the reply to the fenced pod is %s", reply)
	}
	c.want.Suspended = true
	if why := c.lead(); why != group.Closes {
		t.Errorf("suspended: %q", why)
	}
	c.ok(c.Drop(t.Context(), uid))
	if left := c.contents(); left != "" {
		t.Errorf("data left after the drop:\n%s", left)
	}
}

// The store is emptied. Workers that know a later round than the leader restore that round.
func TestLostGroupIsRestored(t *testing.T) {
	c := newClub(t)
	c.lead()
	c.join(1)
	c.server.do("FLUSHALL")
	if _, _, err := c.Call(t.Context(), uid, rounds.Lost("i1", 0, slotOf(0), 1, 1)); !errors.Is(err, coordination.ErrNoGroup) {
		t.Errorf("a call without functions: %v", err)
	}
	c.want.Round, c.want.Entered, c.want.Finished = 2, 1, []string{"js-w-0-1"}
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
		t.Errorf("all have joined: %s", l)
	}
}

func TestPlaceOfASlot(t *testing.T) {
	c := newClub(t)
	c.lead()
	if o := c.Observe(t.Context(), uid, slotOf(1)); o.Err != nil || o.Place.Unit != 0 || o.Place.Pods != 2 || o.Place.Free() {
		t.Errorf("%+v", o)
	}
	for _, slot := range []string{"js-w-0-2", "js-w-1-0", "js-v-0-0", "w", "", "js-w-00-0"} {
		if o := c.Observe(t.Context(), uid, rounds.Slot{Name: slot}); !errors.Is(o.Err, coordination.ErrUnknownSlot) {
			t.Errorf("slot %q: %v", slot, o.Err)
		}
	}
	if o := c.Observe(t.Context(), "another", slotOf(1)); !errors.Is(o.Err, coordination.ErrNoGroup) {
		t.Errorf("another group: %v", o.Err)
	}
}

func TestEarlierLeaderIsRejected(t *testing.T) {
	c := newClub(t)
	c.want.Token.Transitions = 2
	c.lead()
	stored, err := c.Read(t.Context(), uid)
	c.ok(err)
	stored.Config.Token.Transitions = 1
	if _, err := c.Set(t.Context(), uid, stored.State.String(), stored.State, stored.Config, nil, nil); !errors.Is(err, coordination.ErrStaleLeader) {
		t.Errorf("a write: %v", err)
	}
	if err := c.Release(t.Context(), uid, coordination.Token{LeaseCreated: 1, Transitions: 1}, stored.State.Level, 0, slotOf(0), "w-0 pod", rounds.Slot{}); !errors.Is(err, coordination.ErrStaleLeader) {
		t.Errorf("a release: %v", err)
	}
	stored.Config.Token.Transitions = 2
	earlier := stored.State
	earlier.Seq--
	if written, err := c.Set(t.Context(), uid, earlier.String(), stored.State, stored.Config, nil, nil); written || err != nil {
		t.Errorf("a write based on an old observation: %t, %v", written, err)
	}
}

// If a key contains invalid data instead of a group, this is reported, and the leader can replace the data.
func TestLeaderReplacesAForeignGroup(t *testing.T) {
	for name, spoil := range map[string][]any{
		"text in the state":       {"SET", rounds.KeysOf(uid).State(), "nonsense"},
		"a state of another type": {"HSET", rounds.KeysOf(uid).State(), "a", "b"},
		"a huge state":            {"SETRANGE", rounds.KeysOf(uid).State(), 1 << 20, "x"},
		"another incarnation":     {"HSET", rounds.KeysOf(uid).Config(), "inc", "other", "units", "many"},
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
			if written, err := c.Set(t.Context(), uid, w.Before, w.State, w.Config, nil, nil); err != nil || !written {
				t.Errorf("the leader replaces it: %t, %v", written, err)
			}
		})
	}
}
