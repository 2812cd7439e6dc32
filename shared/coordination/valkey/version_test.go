package valkey

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/contract"
)

// ofVersion makes a client as a build of that version would.
func (s *server) ofVersion(t testing.TB, version int64, change ...func(*Options)) *Store {
	t.Helper()
	return s.store(t, append(change, func(o *Options) { o.version = version })...)
}

// inTurn is a store of which each call is made by another one. Only the last one watches.
type inTurn struct {
	coordination.Store
	stores []*Store
	calls  int
}

func (s *inTurn) next() *Store {
	s.calls++
	return s.stores[s.calls%len(s.stores)]
}

func (s *inTurn) Join(ctx context.Context, group string, j coordination.Join) (coordination.Reply, error) {
	return s.next().Join(ctx, group, j)
}

func (s *inTurn) Down(ctx context.Context, group string, d coordination.Down) (coordination.Reply, error) {
	return s.next().Down(ctx, group, d)
}

func (s *inTurn) Ask(ctx context.Context, group string, m coordination.Member, kind string) (coordination.Reply, error) {
	return s.next().Ask(ctx, group, m, kind)
}

// TestContractOfTwoVersions has a store of version 2, and members of 1 and 2 in turn.
func TestContractOfTwoVersions(t *testing.T) {
	for _, watcher := range []int64{1, 2} {
		t.Run(fmt.Sprint("watched by version ", watcher), func(t *testing.T) {
			server := newServer(t)
			leader := server.ofVersion(t, 2)
			if err := leader.EnsureLibrary(t.Context()); err != nil {
				t.Fatal(err)
			}
			members := []*Store{server.ofVersion(t, 1), server.ofVersion(t, 2)}
			contract.Run(t, func(*testing.T) contract.Harness {
				server.do("FLUSHALL")
				return contract.Harness{
					Store: &watchedBy{&inTurn{Store: leader, stores: members}, members[watcher-1]},
					Save: func() func() {
						dump := server.dump()
						return func() { server.load(dump) }
					},
					Lose: func() { server.do("FLUSHALL") },
				}
			})
		})
	}
}

type watchedBy struct {
	*inTurn
	watcher *Store
}

func (w *watchedBy) Watch(ctx context.Context, group string, on func(coordination.Observation)) {
	w.watcher.Watch(ctx, group, on)
}

// change brings a store from one version to another in the middle of a job.
type change struct {
	from, to int64
	members  []int64
}

// TestTheStoreChangesItsVersionUnderRunningMembers has a group of two workers, one of each version of a case, that fails
// before and after the store was brought up to date or rolled back. Nothing is lost, nobody is restarted for it, and each
// member hears of the next restart without connecting again.
func TestTheStoreChangesItsVersionUnderRunningMembers(t *testing.T) {
	cases := map[string]change{
		"an upgrade under members of the version before": {1, 2, []int64{1, 1}},
		"an upgrade under members of both":               {1, 2, []int64{1, 2}},
		"a roll-back under members of both":              {2, 1, []int64{1, 2}},
		"a roll-back under newer members":                {2, 1, []int64{2, 2}},
		"a later upgrade":                                {4, 5, []int64{4, 5}},
		"a later roll-back":                              {5, 4, []int64{4, 5}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) { testChange(t, tc) })
	}
}

func testChange(t *testing.T, tc change) {
	ctx := t.Context()
	server := newServer(t)
	old, next := server.ofVersion(t, tc.from), server.ofVersion(t, tc.to)
	mustOpen(t, old, anOpening())
	members, watches := membersOf(t, server, tc.members)
	for i, m := range members {
		mustJoin(t, m, aJoin(fmt.Sprint(i)))
	}
	j := aJoin("0")
	mustDown(t, members[0], j)
	for i, m := range members {
		mustJoin(t, m, later(aJoin(fmt.Sprint(i)), 1))
	}
	awaitLevel(t, watches, coordination.Running, 1)

	before, kept := mustSummary(t, old), server.dump()
	if err := next.EnsureLibrary(ctx); err != nil {
		t.Fatal(err)
	}
	if after := mustSummary(t, next); fmt.Sprint(after) != fmt.Sprint(before) || !maps.Equal(kept, server.dump()) {
		t.Fatalf("the new version reads %+v, the old one read %+v", after, before)
	}
	for i, m := range members {
		mustJoin(t, m, later(aJoin(fmt.Sprint(i)), 1)) // again, as after a reconnection
	}
	if after := mustSummary(t, next); after.Seq != before.Seq {
		t.Fatalf("the change of version moved the group: %+v", after)
	}
	mustDown(t, members[1], later(aJoin("1"), 1))
	awaitLevel(t, watches, coordination.Restarting, 2)
	for i, m := range members {
		mustJoin(t, m, later(aJoin(fmt.Sprint(i)), 2))
	}
	awaitLevel(t, watches, coordination.Running, 2)
	if history, err := next.History(ctx, uid); err != nil || len(history) != 3 {
		t.Errorf("history %v, error %v; want all 3 records", history, err)
	}
}

func membersOf(t *testing.T, server *server, versions []int64) ([]*Store, []*contract.Watching) {
	var members []*Store
	var watches []*contract.Watching
	for _, version := range versions {
		m := server.ofVersion(t, version)
		w := contract.Watch(t, m, uid)
		w.AwaitCount(t, 1)
		members, watches = append(members, m), append(watches, w)
	}
	return members, watches
}

// later is the nth instance after the first one of a slot.
func later(j coordination.Join, n int64) coordination.Join {
	j.Instance = coordination.Instance{ID: fmt.Sprint(j.ID, "-", n), Born: j.Born + n}
	return j
}

func mustJoin(t *testing.T, s *Store, j coordination.Join) coordination.Reply {
	t.Helper()
	r, err := s.Join(t.Context(), uid, j)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func mustDown(t *testing.T, s *Store, j coordination.Join) {
	t.Helper()
	if _, err := s.Down(t.Context(), uid, coordination.Down{Member: j.Member, Instance: j.Instance, ExitCode: 1, Seen: j.Seen}); err != nil {
		t.Fatal(err)
	}
}

func mustSummary(t *testing.T, s *Store) coordination.Summary {
	t.Helper()
	sum, err := s.Summary(t.Context(), uid)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// awaitLevel waits until every watch has heard of a phase and round, by a broadcast, and once.
func awaitLevel(t *testing.T, watches []*contract.Watching, phase coordination.Phase, round int64) {
	t.Helper()
	is := func(o coordination.Observation) bool {
		return !o.Read && o.Level.Phase == phase && o.Level.Round == round
	}
	for i, w := range watches {
		heard := func(seen []coordination.Observation) bool {
			n := 0
			for _, o := range seen {
				if is(o) {
					n++
				}
			}
			return n == 1
		}
		if !w.Await(heard) {
			t.Errorf("member %d did not hear once of %s(%d): %+v", i, phase, round, w.Seen())
		}
	}
}

func TestAMemberOfARolledBackStoreSpeaksItsOwnVersionAgainAsSoonAsItCan(t *testing.T) {
	server := newServer(t)
	old, next := server.ofVersion(t, 1), server.ofVersion(t, 2)
	mustOpen(t, old, anOpening())
	member := server.ofVersion(t, 2, func(o *Options) { o.Resync = 20 * time.Millisecond })
	contract.Watch(t, member, uid).AwaitCount(t, 1)
	mustJoin(t, member, aJoin("0"))
	if got := member.understood.Load(); got != 1 {
		t.Fatalf("it speaks version %d with a store of version 1", got)
	}
	if err := next.EnsureLibrary(t.Context()); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); member.understood.Load() != 2; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it never tried its own version again")
		}
	}
	mustJoin(t, member, aJoin("1"))
}

func TestAMemberTwoVersionsBehindFindsNoGroup(t *testing.T) {
	server := newServer(t)
	mustOpen(t, server.ofVersion(t, 3), anOpening())
	if _, err := server.ofVersion(t, 1).Join(t.Context(), uid, aJoin("0")); !errors.Is(err, coordination.ErrNoGroup) {
		t.Errorf("join: %v, want %v", err, coordination.ErrNoGroup)
	}
}

// TestAnAgentsRightsHoldAcrossVersions: what an older agent reports is published to newer ones too, with its rights.
func TestAnAgentsRightsHoldAcrossVersions(t *testing.T) {
	server := newServer(t)
	mustOpen(t, server.ofVersion(t, 2), anOpening())
	agent := server.asUser(t, AgentRules(2, uid))
	newer := contract.Watch(t, server.ofVersion(t, 2), uid)
	newer.AwaitCount(t, 1)
	for _, slot := range []string{"0", "1"} {
		mustJoin(t, agent, aJoin(slot))
	}
	awaitLevel(t, []*contract.Watching{newer}, coordination.Running, 0)
	for _, foreign := range []string{"hf1:{uid-2}:c", "hf2:{uid-2}:c", "hf1:{uid-1}:x"} {
		if err := agent.client.Publish(t.Context(), foreign, "x").Err(); err == nil || !strings.Contains(err.Error(), "NOPERM") {
			t.Errorf("%s: %v, want NOPERM", foreign, err)
		}
	}
}

// TestAMemberThatGivesLess calls as members did before they named pod and node: nothing of it is missed.
func TestAMemberThatGivesLess(t *testing.T) {
	server := newServer(t)
	store := server.store(t)
	mustOpen(t, store, anOpening())
	call := func(function, slot string, more ...any) {
		t.Helper()
		args := append([]any{"FCALL", functionName(1, function), 4}, anys(keys(uid))...)
		args = append(args, channel(1, uid), "js-w-0-"+slot, "pod-"+slot, 1, "i-"+slot, 1, 0, -1, 0, 0, 0, 0, 1)
		server.do(append(args, more...)...)
	}
	call(functionJoin, "0")
	call(functionJoin, "1")
	call(functionDown, "1", 137, 0, 11, 12)
	sum := mustSummary(t, store)
	want := coordination.Cause{Slot: "js-w-0-1", Kind: coordination.KindExit, ExitCode: 137}
	if sum.Phase != coordination.Restarting || sum.Record.Cause != want || sum.Record.FailedAt != 11 {
		t.Errorf("%s, %+v; want Restarting, %+v", sum.Phase, sum.Record, want)
	}
}

func anys(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}
