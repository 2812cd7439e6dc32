package valkey

import (
	"context"
	"errors"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

func TestEachLevelIsPublished(t *testing.T) {
	server := newServer(t)
	store := server.store(t)
	w := watchGroup(t, store, uid)
	if first := w.awaitCount(t, 1)[0]; !first.Read || !errors.Is(first.Err, coordination.ErrNoGroup) {
		t.Fatalf("observation %+v, want no group", first)
	}
	mustOpen(t, store)
	mustJoin(t, store)
	mustCall(t, store, aJoin(0)) // changes nothing
	mustCall(t, store, aDeath(0))
	all := w.awaitCount(t, 4)
	if opened, runs, restarts := all[1], all[2], all[3]; !opened.Level.Forming() || !runs.Level.Running() || !restarts.Level.Restarting() || restarts.Level.Round != 1 {
		t.Errorf("observations %+v; want forming, running, restarting", all)
	}
	if slices.ContainsFunc(all[1:], func(o rounds.Observation) bool { return o.Read || o.Err != nil }) {
		t.Errorf("observations %+v; want messages", all)
	}
}

func TestLeaderWatchesEveryGroup(t *testing.T) {
	server := newServer(t)
	store := server.store(t)
	ctx, cancel := context.WithCancel(t.Context())
	heard, ended := make(chan string, 100), make(chan struct{})
	go func() {
		defer close(ended)
		store.WatchAll(ctx, func(group string) { heard <- group })
	}()
	t.Cleanup(func() { cancel(); <-ended })
	next := func(want string) {
		t.Helper()
		select {
		case got := <-heard:
			if got != want {
				t.Fatalf("notified of %q, want %q", got, want)
			}
		case <-time.After(patience):
			t.Fatalf("not notified of %q", want)
		}
	}
	next("")
	mustOpen(t, store, "uid-1", "uid-2")
	next("uid-1")
	next("uid-2")
	mustJoin(t, store)
	next("uid-1")
	mustCall(t, store, rounds.Join("A", 0, 0, 0, rounds.Member{Slot: rounds.Slot{Name: slotOf(0).Name, Pod: "another"}, ID: "i", Attempt: 1}))
	next("uid-1") // two pods claim the same slot, and only the leader can decide which of them gets it
}

func TestOutageWithDataIsOneErrorThenARead(t *testing.T) {
	server := newServer(t, "--appendonly", "yes", "--appendfsync", "always")
	store := server.store(t)
	mustOpen(t, store)
	w := watchGroup(t, store, uid)
	before := w.awaitCount(t, 1)[0]
	server.stop()
	w.awaitCount(t, 2)
	server.start()
	all := w.awaitCount(t, 3)
	if len(all) != 3 || !isLoss(all[1]) || !all[2].Read || all[2].Level != before.Level {
		t.Errorf("observations %+v; want a read, one loss, and the same read", all)
	}
}

func TestOutageWithoutDataIsOneErrorThenNoGroup(t *testing.T) {
	server := newServer(t)
	store := server.store(t)
	mustOpen(t, store)
	w := watchGroup(t, store, uid)
	w.awaitCount(t, 1)
	server.stop()
	w.awaitCount(t, 2)
	server.start()
	all := w.awaitCount(t, 3)
	if !isLoss(all[1]) || !all[2].Read || !errors.Is(all[2].Err, coordination.ErrNoGroup) {
		t.Fatalf("observations %+v; want a read, one loss, and no group", all)
	}
	if _, _, err := store.Call(t.Context(), uid, aJoin(0)); !errors.Is(err, coordination.ErrNoGroup) {
		t.Errorf("join: %v, want %v", err, coordination.ErrNoGroup)
	}
	mustOpen(t, store) // the functions were lost, too, and the leader loads them
	if last := w.awaitCount(t, 4)[3]; !last.Level.Forming() {
		t.Errorf("last observation %+v, want a forming group", last)
	}
}

func TestPooledConnectionMayBeLostUnnoticed(t *testing.T) {
	server := newServer(t, "--appendonly", "yes", "--appendfsync", "always")
	store := server.store(t)
	mustOpen(t, store)
	server.stop()
	server.start()
	mustCall(t, store, aJoin(0))
}

func TestHangingServerIsDetectedByPings(t *testing.T) {
	server := newServer(t)
	store := server.store(t, func(o *Options) { o.Timeout = 300 * time.Millisecond })
	mustOpen(t, store)
	w := watchGroup(t, store, uid)
	w.awaitCount(t, 1)
	if err := server.process.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	w.awaitCount(t, 2)
	if err := server.process.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	all := w.awaitCount(t, 3)
	if !isLoss(all[1]) || !all[2].Read || all[2].Err != nil {
		t.Errorf("observations %+v; want a read, one loss, a read", all)
	}
}

func TestWatchReportsAnUnreachableServerOnce(t *testing.T) {
	server := newServer(t)
	server.stop()
	store := server.store(t)
	w := watchGroup(t, store, uid)
	w.awaitCount(t, 1)
	server.start()
	all := w.awaitCount(t, 2)
	if !isLoss(all[0]) || !all[1].Read || !errors.Is(all[1].Err, coordination.ErrNoGroup) {
		t.Errorf("observations %+v; want one loss, then no group", all)
	}
}

func TestNextReadReplacesALostMessage(t *testing.T) {
	server := newServer(t)
	store := server.store(t, func(o *Options) { o.Resync = 50 * time.Millisecond })
	mustOpen(t, store)
	w := watchGroup(t, store, uid)
	w.awaitCount(t, 1)
	later := aState()
	later.Phase, later.Seq = rounds.Closed, 9
	server.do("SET", rounds.KeysOf(uid).State(), later.String()) // as if its message had been lost
	w.await(t, "the level", func(all []rounds.Observation) bool {
		last := all[len(all)-1]
		return last.Read && last.Level == later.Level
	})
}

func TestInvalidMessageIsForeign(t *testing.T) {
	server := newServer(t)
	store := server.store(t)
	mustOpen(t, store)
	w := watchGroup(t, store, uid)
	w.awaitCount(t, 1)
	later := aState().Level
	later.Seq = 7
	server.do("PUBLISH", rounds.KeysOf(uid).Channel(), "2 A 1 -999 A 0 0 0 - 0")
	server.do("PUBLISH", rounds.KeysOf(uid).Channel(), later.String())
	all := w.awaitCount(t, 3)
	if !errors.Is(all[1].Err, coordination.ErrForeignValue) || all[1].Level != (rounds.Level{}) {
		t.Errorf("got %+v, want a foreign value", all[1])
	}
	if all[2].Err != nil || all[2].Level != later {
		t.Errorf("got %+v, want the next level", all[2])
	}
}

func TestAgentHasTwoConnections(t *testing.T) {
	server := newServer(t)
	store := server.store(t, func(o *Options) { o.Resync = 20 * time.Millisecond; o.ClientName = "agent" })
	mustOpen(t, store)
	w := watchGroup(t, store, uid)
	mustJoin(t, store)
	w.awaitCount(t, 5)
	if n := server.clients("name=agent"); n != 2 {
		t.Errorf("%d connections, want 2:\n%s", n, server.do("CLIENT", "LIST"))
	}
	w.stop()
	for server.clients("cmd=subscribe") > 0 {
		time.Sleep(time.Millisecond)
	}
}

func TestSlowObserverBlocksOnlyItself(t *testing.T) {
	server := newServer(t)
	store := server.store(t)
	mustOpen(t, store)
	release, entered := make(chan struct{}), make(chan struct{}, 100)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		store.Watch(ctx, uid, slotOf(0), func(rounds.Observation) { entered <- struct{}{}; <-release })
	}()
	<-entered
	mustJoin(t, store)
	close(release)
	cancel()
	<-done
}
