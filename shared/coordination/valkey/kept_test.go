package valkey

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/functions"
)

// The functions keep what the last call on a group has read. These tests are about the times when that must not count.

// TestAStoreThatIsPutBackIsRead: each state that a group went through is put back under functions that know a later one, and
// every call answers as it did at first.
func TestAStoreThatIsPutBackIsRead(t *testing.T) {
	server := newServer(t)
	store := server.store(t)
	ctx := t.Context()
	mustOpen(t, store, anOpening())
	j := aJoin("0")
	later := j
	later.ID, later.Born = "i-0b", 2
	steps := []func() (coordination.Reply, error){
		func() (coordination.Reply, error) { return store.Join(ctx, uid, j) },
		func() (coordination.Reply, error) { return store.Join(ctx, uid, aJoin("1")) },
		func() (coordination.Reply, error) {
			return store.Down(ctx, uid, coordination.Down{Member: j.Member, Instance: j.Instance, ExitCode: 1})
		},
		func() (coordination.Reply, error) { return store.Join(ctx, uid, later) },
		func() (coordination.Reply, error) { return store.Ask(ctx, uid, j.Member, coordination.KindGap) },
	}
	var before []map[string]string
	var first []coordination.Reply
	for i, step := range steps {
		before = append(before, server.dump())
		reply, err := step()
		if err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		first = append(first, reply)
	}
	for _, i := range []int{3, 0, 4, 1, 2, 0} {
		server.load(before[i])
		reply, err := steps[i]()
		if diff := cmp.Diff(first[i], reply); err != nil || diff != "" {
			t.Errorf("step %d, when all before it is put back: error %v (-first +again)\n%s", i, err, diff)
		}
	}
}

// TestAFailedCallLeavesNothingBehind: each fails after the rules have taken the instance before it out of the counts, the one in the
// middle of them, the other when it writes.
func TestAFailedCallLeavesNothingBehind(t *testing.T) {
	newPod, newInstance := aJoin("0"), aJoin("0")
	newPod.Pod, newPod.PodBorn, newPod.ID, newPod.Born = "pod-0b", 2, "i-0b", 2
	newInstance.ID, newInstance.Born = "i-0b", 2
	for name, c := range map[string]struct {
		join   coordination.Join
		damage func(*server)
	}{
		"the round cannot be read":     {newInstance, func(s *server) { s.do("HSET", functions.StateKey(uid), "recovery", "x") }},
		"the pod before is not fenced": {newPod, func(s *server) { s.do("SET", functions.FencedKey(uid), "x") }},
	} {
		t.Run(name, func(t *testing.T) {
			server := newServer(t)
			store := server.store(t)
			o := anOpening()
			o.Recover = true
			mustOpen(t, store, o)
			if _, err := store.Join(t.Context(), uid, aJoin("0")); err != nil {
				t.Fatal(err)
			}
			sound := server.dump()
			c.damage(server)
			if _, err := store.Join(t.Context(), uid, c.join); err == nil {
				t.Fatal("the join succeeded")
			}
			server.load(sound)
			want, err := store.Summary(t.Context(), uid)
			if err != nil || want.Joined != 1 || want.Phase != coordination.Recovering {
				t.Errorf("%+v, error %v; want one joined in a recovery", want, err)
			}
		})
	}
}

// TestTheKeysAreTheCallers: a member of the group has called with others beside the first one, which it may.
func TestTheKeysAreTheCallers(t *testing.T) {
	server := newServer(t)
	store := server.store(t)
	openAndJoin(t, store)
	want, err := store.Summary(t.Context(), uid)
	if err != nil {
		t.Fatal(err)
	}
	server.do("FUNCTION", "FLUSH") // so that the member's call is the first one
	if err := store.EnsureLibrary(t.Context()); err != nil {
		t.Fatal(err)
	}
	mine := functions.Keys(uid)
	server.do(fcall(functions.FunctionSummary, []string{mine[0], mine[0], mine[2], mine[3]}, functions.Channel(uid))...)
	if _, err := store.Join(t.Context(), uid, aJoin("0")); err != nil {
		t.Errorf("a join that is repeated: %v", err)
	}
	got, err := store.Summary(t.Context(), uid)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("error %v (-before +after)\n%s", err, diff)
	}
}

// TestWhatIsKeptIsBounded: however many groups a store has had, the functions keep some megabytes.
func TestWhatIsKeptIsBounded(t *testing.T) {
	const groups, most = 8000, 36 << 20 // unbounded they would leave 52 MiB
	server := newServer(t)
	store := server.store(t)
	if err := store.EnsureLibrary(t.Context()); err != nil {
		t.Fatal(err)
	}
	o := anOpening()
	for i := range groups {
		if _, err := store.Open(t.Context(), fmt.Sprintf("uid-%d", i), o); err != nil {
			t.Fatal(err)
		}
	}
	if used := int(server.info("memory", "used_memory_vm_functions")); used > most {
		t.Errorf("%d groups have left %d MiB with the functions, want at most %d", groups, used>>20, most>>20)
	} else {
		t.Logf("%d groups have left %d KiB with the functions", groups, used>>10)
	}
}
