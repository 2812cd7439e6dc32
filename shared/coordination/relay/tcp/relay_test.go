package tcp

import (
	"bytes"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/relay"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/coordination/simulation/memory"
)

// relayed starts a group in which members 1 to 3 use the relay in slot 0.
func relayed(t *testing.T) (*backend, []*member) {
	t.Helper()
	b := newBackend(t, 4)
	all := []*member{b.member(t, 0)}
	eventually(t, "the relay is announced", func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.records["js-w-0-0"] != ""
	})
	all[0].await("the relay has read the level", func(o rounds.Observation) bool { return o.Read })
	for n := 1; n < 4; n++ {
		all = append(all, b.member(t, n))
	}
	for _, m := range all[1:] {
		m.await("a level through the relay", func(o rounds.Observation) bool { return o.Read && o.Err == nil })
		if m.client.Load() == nil || m.watches() != 0 {
			t.Fatalf("member %d does not use the relay, and has %d watches on the store", m.n, m.watches())
		}
	}
	return b, all
}

func joinAll(members []*member, round int64) {
	var joining sync.WaitGroup
	for _, m := range members {
		joining.Go(func() { m.join(round) })
	}
	joining.Wait()
}

func TestRestartsThroughARelay(t *testing.T) {
	b, all := relayed(t)
	joinAll(all, 0)
	for round := range int64(3) {
		for _, m := range all {
			m.awaitRound(round)
		}
		all[1+round%3].dies(round)
		for _, m := range all {
			m.await("the order", func(o rounds.Observation) bool { return o.Level.Round == round+1 })
		}
		joinAll(all, round+1)
	}
	var deaths int64
	for _, m := range all {
		m.awaitRound(3)
		deaths += m.calls()
	}
	if deaths != 3 {
		t.Errorf("%d calls went to the store directly, want the three deaths", deaths)
	}
	joins := 0
	for _, n := range b.batches {
		joins += n
	}
	if joins != 16 {
		t.Errorf("the relay joined %d members in batches of %v, want 16 members", joins, b.batches)
	}
}

// A relay joins with one call if all its members join within 50 ms. On a slow machine, they may not, so once in ten restarts is
// enough.
func TestARelayMakesOneCallForAllItsMembers(t *testing.T) {
	b, all := relayed(t)
	joinAll(all, 0)
	for round := range int64(10) {
		for _, m := range all {
			m.awaitRound(round)
		}
		all[round%4].dies(round)
		joinAll(all, round+1)
	}
	if !slices.Contains(b.batches, 4) {
		t.Errorf("the relay's calls contain the joins of %v members, want 4 at least once", b.batches)
	}
}

// When a relay ends, its members lose only their connection: they switch to the store and join there.
func TestARelayThatEnds(t *testing.T) {
	_, all := relayed(t)
	joinAll(all, 0)
	all[0].end()
	for _, m := range all[1:] {
		m.await("the switch", func(o rounds.Observation) bool { return errors.Is(o.Err, coordination.ErrSwitched) })
		eventually(t, "the member watches the store", func() bool { return m.watches() == 1 })
	}
	all[1].dies(0)
	for _, m := range all[1:] {
		m.await("the order", func(o rounds.Observation) bool { return o.Level.Round == 1 })
		m.join(1)
	}
}

// A member leaves a relay that hangs after a delay, and sends its join to the store.
func TestARelayThatHangs(t *testing.T) {
	t.Parallel()
	_, all := relayed(t)
	s := all[0].server.Load()
	s.up.mu.Lock()
	defer s.up.mu.Unlock()
	began := time.Now()
	c := rounds.Join("A", 0, 0, 0, rounds.Member{Slot: all[1].own, ID: "i", Past: rounds.Past{Kind: rounds.PastNew}})
	reply, _, err := all[1].Call(t.Context(), group, c)
	if err != nil || reply != string(rounds.AnswerJoined) || time.Since(began) < 5*time.Second {
		t.Errorf("%q, %v after %s", reply, err, time.Since(began))
	}
}

func TestABrokenJoinFailsOnlyItsOwnMember(t *testing.T) {
	b, all := relayed(t)
	b.broken = all[2].own.Name
	s := all[0].server.Load()
	s.up.mu.Lock()
	for n := 1; n < 4; n++ { // all in one call
		go all[n].join(0)
	}
	time.Sleep(100 * time.Millisecond)
	s.up.mu.Unlock()
	all[0].join(0)
	for _, m := range all {
		m.awaitRound(0)
	}
}

// While the store is unreachable, members stay with their relay for some seconds, because the relay is likely to be the first to
// reach the store again.
func TestAnOutageOfTheStore(t *testing.T) {
	b, all := relayed(t)
	joinAll(all, 0)
	b.SetReachable(false)
	for _, m := range all[1:] {
		m.await("the outage", func(o rounds.Observation) bool { return o.Err != nil && !errors.Is(o.Err, coordination.ErrSwitched) })
	}
	b.SetReachable(true)
	all[0].dies(0)
	joinAll(all, 1)
	for _, m := range all[1:] {
		m.awaitRound(1)
		if m.watches() != 0 {
			t.Errorf("member %d has left the relay", m.n)
		}
	}
}

func TestAPodThatIsGivenTheSlotOfARelayRelays(t *testing.T) {
	b := newBackend(t, 4)
	m := b.idleMember(t, 1)
	m.note(m.own, rounds.Observation{Place: &rounds.Place{Bounds: rounds.Bounds{Stage: coordination.Stage{Prefix: "js-w", Jobs: 1, Pods: 4}}, Given: "js-w-0-0"}})
	if slot, relays := m.role(); slot != "js-w-0-0" || !relays {
		t.Errorf("relay %q, itself %t", slot, relays)
	}
	m.note(m.own, rounds.Observation{Place: &rounds.Place{Bounds: rounds.Bounds{Stage: coordination.Stage{Prefix: "js-w", Jobs: 1, Pods: 4}}, Spare: true}})
	if slot, relays := m.role(); slot != "" || relays {
		t.Errorf("a pod without a slot has relay %q; it is the relay itself: %t", slot, relays)
	}
}

func TestWhoMayUseARelay(t *testing.T) {
	b, all := relayed(t)
	record, err := relay.ParseRecord(b.records["js-w-0-0"])
	if err != nil {
		t.Fatal(err)
	}
	wrong := record
	wrong.Token = "another"
	c, err := connect(t.Context(), wrong)
	if err != nil {
		t.Fatal(err)
	}
	if o := c.observe(t.Context(), all[1].own); !errors.Is(o.Err, errLeft) {
		t.Errorf("a client without the token reads %+v", o)
	}
	wrong = record
	wrong.Fingerprint = string(bytes.Repeat([]byte("0"), 64))
	if _, err := connect(t.Context(), wrong); !errors.Is(err, errCertificate) {
		t.Errorf("a relay with another certificate: %v", err)
	}
	s := all[0].server.Load()
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.members); n < 3 {
		t.Errorf("the relay has %d members", n)
	}
}

func TestARelayRejectsBrokenRequests(t *testing.T) {
	_, all := relayed(t)
	c := all[1].client.Load()
	for name, m := range map[string]message{
		"a join without arguments":      {kindJoin},
		"a join with too few arguments": {kindJoin, "7", "A", "0"},
		"the join of two members":       append(joinMessage("8", rounds.Join("A", 0, 0, 0, rounds.Member{}, rounds.Member{})), ""),
		"an observation without a slot": {kindObserve, "9"},
		"a message of another kind":     {"other"},
	} {
		if err := c.send(m); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if o := c.observe(t.Context(), all[1].own); o.Err != nil || o.Level.Round != 0 || o.Place == nil {
		t.Errorf("after them: %+v", o)
	}
	if err := c.send(message{kindObserve, "with a\ttab"}); !errors.Is(err, errField) {
		t.Errorf("a field with a tab: %v", err)
	}
}

// The password file of a store may be unreadable for a moment. A function that opens a store then returns an error and a nil
// pointer of its own store type.
func TestAStoreThatCannotBeOpenedIsOpenedLater(t *testing.T) {
	b := &backend{Store: memory.New(time.Now), records: map[string]string{}}
	broken := true
	open := func() (Store, error) {
		if broken {
			return (*connection)(nil), errors.New("no password")
		}
		return &connection{backend: b}, nil
	}
	m := &Members{options: Options{Open: open}}
	if o := m.Observe(t.Context(), group, rounds.Slot{}); o.Err == nil {
		t.Error("the level was read without a store")
	}
	broken = false
	if o := m.Observe(t.Context(), group, rounds.Slot{}); !errors.Is(o.Err, coordination.ErrNoGroup) {
		t.Errorf("after the store can be opened again: %v", o.Err)
	}
}
