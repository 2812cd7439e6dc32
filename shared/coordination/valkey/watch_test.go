package valkey

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/contract"
	"github.com/holdfast-project/holdfast/shared/coordination/functions"
)

const uid = "uid-1"

func anOpening() coordination.Open {
	return coordination.Open{
		Token: coordination.Token{LeaseCreated: 1, Transitions: 1}, Incarnation: "A", Epoch: 1, Limit: 5,
		Stages: []coordination.Stage{{Prefix: "js-w", Jobs: 1, Pods: 2}},
	}
}

func aJoin(slot string) coordination.Join {
	return coordination.Join{
		Member:   coordination.Member{Slot: "js-w-0-" + slot, Pod: "pod-" + slot, PodBorn: 1},
		Instance: coordination.Instance{ID: "i-" + slot, Born: 1}, Seen: coordination.Unseen(),
	}
}

func mustOpen(t testing.TB, s *Store, o coordination.Open) {
	t.Helper()
	if _, err := s.Open(context.Background(), uid, o); err != nil {
		t.Fatal(err)
	}
}

// isLoss tells an observation that the store is out of reach.
func isLoss(o coordination.Observation) bool {
	return o.Err != nil && !o.Read && !errors.Is(o.Err, coordination.ErrForeignValue)
}

func TestAnOutageWithDataIsOneErrorThenARead(t *testing.T) {
	server := newServer(t, "--appendonly", "yes", "--appendfsync", "always")
	store := server.store(t)
	mustOpen(t, store, anOpening())
	w := contract.Watch(t, store, uid)
	before := w.AwaitCount(t, 1)[0]
	server.stop()
	w.AwaitCount(t, 2)
	server.start()
	seen := w.AwaitCount(t, 3)
	if len(seen) != 3 || !isLoss(seen[1]) || seen[2] != before {
		t.Errorf("observations %+v; want a read, one loss, and the same read", seen)
	}
}

func TestAnOutageWithoutDataIsOneErrorThenNoGroup(t *testing.T) {
	server := newServer(t)
	store := server.store(t)
	mustOpen(t, store, anOpening())
	w := contract.Watch(t, store, uid)
	w.AwaitCount(t, 1)
	server.stop()
	w.AwaitCount(t, 2)
	server.start()
	seen := w.AwaitCount(t, 3)
	if !isLoss(seen[1]) || !seen[2].Read || !errors.Is(seen[2].Err, coordination.ErrNoGroup) {
		t.Fatalf("observations %+v; want a read, one loss, and no group", seen)
	}
	if _, err := store.Join(t.Context(), uid, aJoin("0")); !errors.Is(err, coordination.ErrNoGroup) {
		t.Errorf("join: %v, want %v", err, coordination.ErrNoGroup)
	}
	o := anOpening()
	o.Recover, o.Incarnation = true, "B"
	mustOpen(t, store, o) // the functions are lost too: the leader brings them back
	if last := w.AwaitCount(t, 4)[3]; last.Level.Phase != coordination.Recovering {
		t.Errorf("last observation %+v, want Recovering", last)
	}
}

func TestACallsPooledConnectionMayDieUnnoticed(t *testing.T) {
	server := newServer(t, "--appendonly", "yes", "--appendfsync", "always")
	store := server.store(t)
	mustOpen(t, store, anOpening())
	server.stop()
	server.start()
	if _, err := store.Join(t.Context(), uid, aJoin("0")); err != nil {
		t.Error(err)
	}
}

func TestAServerThatHangsIsNoticedByThePing(t *testing.T) {
	server := newServer(t)
	store := server.store(t, func(o *Options) { o.Timeout = 300 * time.Millisecond })
	mustOpen(t, store, anOpening())
	w := contract.Watch(t, store, uid)
	w.AwaitCount(t, 1)
	if err := server.process.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	w.AwaitCount(t, 2)
	if err := server.process.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	seen := w.AwaitCount(t, 3)
	if !isLoss(seen[1]) || !seen[2].Read || seen[2].Err != nil {
		t.Errorf("observations %+v; want a read, one loss, a read", seen)
	}
}

func TestAWatchOfAServerThatIsAwayTellsOnce(t *testing.T) {
	server := newServer(t)
	server.stop()
	store := server.store(t)
	w := contract.Watch(t, store, uid)
	w.AwaitCount(t, 1)
	server.start()
	seen := w.AwaitCount(t, 2)
	if !isLoss(seen[0]) || !seen[1].Read || !errors.Is(seen[1].Err, coordination.ErrNoGroup) {
		t.Errorf("observations %+v; want one loss, then no group", seen)
	}
}

func TestALostMessageIsMadeUpForByTheNextRead(t *testing.T) {
	server := newServer(t)
	store := server.store(t, func(o *Options) { o.Resync = 50 * time.Millisecond })
	mustOpen(t, store, anOpening())
	w := contract.Watch(t, store, uid)
	w.AwaitCount(t, 1)
	server.do("HSET", functions.StateKey(uid), "phase", "Closed", "seq", "9") // as if its broadcast had been lost
	found := w.Await(func(seen []coordination.Observation) bool {
		last := seen[len(seen)-1]
		return last.Read && last.Level.Seq == 9
	})
	if !found {
		t.Error("the level was not read again")
	}
}

func TestAMessageThatIsNoLevelIsForeign(t *testing.T) {
	server := newServer(t)
	store := server.store(t)
	mustOpen(t, store, anOpening())
	w := contract.Watch(t, store, uid)
	w.AwaitCount(t, 1)
	server.do("PUBLISH", functions.Channel(uid), "1 A 0 1 -999 Running 7")
	server.do("PUBLISH", functions.Channel(uid), "1 A 0 1 0 Running 7 0 0")
	seen := w.AwaitCount(t, 3)
	if !errors.Is(seen[1].Err, coordination.ErrForeignValue) || seen[1].Level != (coordination.Level{}) {
		t.Errorf("got %+v, want a foreign value", seen[1])
	}
	if seen[2].Err != nil || seen[2].Level.Seq != 7 {
		t.Errorf("got %+v, want the next level", seen[2])
	}
}

func TestAnAgentHasTwoConnections(t *testing.T) {
	server := newServer(t)
	store := server.store(t, func(o *Options) { o.Resync = 20 * time.Millisecond; o.ClientName = "agent" })
	mustOpen(t, store, anOpening())
	w := contract.Watch(t, store, uid)
	for _, slot := range []string{"0", "1"} {
		if _, err := store.Join(t.Context(), uid, aJoin(slot)); err != nil {
			t.Fatal(err)
		}
	}
	w.AwaitCount(t, 5)
	if n := server.clients("name=agent"); n != 2 {
		t.Errorf("%d connections, want 2", n)
	}
	w.Stop()
	for server.clients("cmd=subscribe") > 0 {
		time.Sleep(time.Millisecond)
	}
}

func TestASlowObserverStallsOnlyItself(t *testing.T) {
	server := newServer(t)
	store := server.store(t)
	mustOpen(t, store, anOpening())
	release, entered := make(chan struct{}), make(chan struct{}, 100)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		store.Watch(ctx, uid, func(coordination.Observation) { entered <- struct{}{}; <-release })
	}()
	<-entered
	for _, slot := range []string{"0", "1"} {
		if _, err := store.Join(t.Context(), uid, aJoin(slot)); err != nil {
			t.Error(err)
		}
	}
	close(release)
	cancel()
	<-done
}
