package contract

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// patience bounds every wait for a message. It is never slept through.
const patience = 30 * time.Second

func testWatch(t *testing.T, newStore func(t *testing.T) Harness) {
	t.Run("each change of the level is broadcast once, after a level that was read", func(t *testing.T) {
		testBroadcasts(t, newStore(t))
	})
	t.Run("without a group the read says so, and the opening is broadcast", func(t *testing.T) {
		testWatchBeforeOpen(t, newStore(t))
	})
	t.Run("a watch ends with its context", func(t *testing.T) { testWatchEnds(t, newStore(t)) })
	t.Run("the leader hears of every group", func(t *testing.T) { testWatchAll(t, newStore(t)) })
}

// Watching is a Watch that runs, and what it has seen.
type Watching struct {
	cancel context.CancelFunc
	done   chan struct{}

	mu   sync.Mutex
	seen []coordination.Observation
	news chan struct{}
}

// Watch starts a Watch of a group; it ends with the test.
func Watch(t *testing.T, s coordination.Agent, group string) *Watching {
	ctx, cancel := context.WithCancel(context.Background())
	w := &Watching{cancel: cancel, done: make(chan struct{}), news: make(chan struct{}, 1)}
	go func() {
		defer close(w.done)
		s.Watch(ctx, group, w.note)
	}()
	t.Cleanup(w.Stop)
	return w
}

// Stop ends the Watch and waits for it.
func (w *Watching) Stop() {
	w.cancel()
	<-w.done
}

func (w *Watching) note(o coordination.Observation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = append(w.seen, o)
	select {
	case w.news <- struct{}{}:
	default:
	}
}

// Seen returns all observations so far.
func (w *Watching) Seen() []coordination.Observation {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]coordination.Observation(nil), w.seen...)
}

// Await waits until the observations satisfy a condition, and tells whether they do.
func (w *Watching) Await(enough func([]coordination.Observation) bool) bool {
	return w.await(patience, enough)
}

func (w *Watching) await(patience time.Duration, enough func([]coordination.Observation) bool) bool {
	timeout := time.After(patience)
	for !enough(w.Seen()) {
		select {
		case <-w.news:
		case <-timeout:
			return false
		}
	}
	return true
}

// AwaitCount waits for n observations.
func (w *Watching) AwaitCount(t *testing.T, n int) []coordination.Observation {
	t.Helper()
	if !w.Await(func(seen []coordination.Observation) bool { return len(seen) >= n }) {
		t.Fatalf("%d observations, want %d: %+v", len(w.Seen()), n, w.Seen())
	}
	return w.Seen()
}

func testBroadcasts(t *testing.T, h Harness) {
	runScript(t, h, "open")
	w := Watch(t, h.Store, group)
	w.AwaitCount(t, 1)
	runScript(t, h, `
		join 0a 1a 2a
		join 0a 1a
		open limit=3
		down 1a code=1
		join 1a@2
		join 1b                  => !fenced
		join 0b 2b
		open epoch=2 suspended`)
	level := func(seq, epoch, round int64, phase coordination.Phase, steps string, read bool) coordination.Observation {
		return coordination.Observation{Read: read, Level: coordination.Level{
			Incarnation: "A", Epoch: epoch, Round: round, Phase: phase, Seq: seq, Steps: steps,
		}}
	}
	want := []coordination.Observation{
		level(1, 1, 0, coordination.Forming, "-", true),
		level(2, 1, 0, coordination.Running, "0", false),
		level(3, 1, 1, coordination.Restarting, "0", false),
		level(4, 1, 1, coordination.Running, "0", false),
		level(5, 2, 0, coordination.Closed, "-", false),
	}
	if diff := cmp.Diff(want, w.AwaitCount(t, len(want))); diff != "" {
		t.Errorf("observations (-want +got):\n%s", diff)
	}
}

func testWatchBeforeOpen(t *testing.T, h Harness) {
	w := Watch(t, h.Store, group)
	first := w.AwaitCount(t, 1)[0]
	if !first.Read || !errors.Is(first.Err, coordination.ErrNoGroup) {
		t.Fatalf("first observation %+v, want a read of no group", first)
	}
	runScript(t, h, "open")
	second := w.AwaitCount(t, 2)[1]
	if second.Err != nil || second.Level.Phase != coordination.Forming {
		t.Errorf("second observation %+v, want Forming", second)
	}
}

func testWatchEnds(t *testing.T, h Harness) {
	runScript(t, h, "open")
	w := Watch(t, h.Store, group)
	w.AwaitCount(t, 1)
	w.cancel()
	select {
	case <-w.done:
	case <-time.After(patience):
		t.Error("the watch did not end")
	}
}

func testWatchAll(t *testing.T, h Harness) {
	ctx, cancel := context.WithCancel(context.Background())
	changed, done := make(chan string, 100), make(chan struct{})
	go func() {
		defer close(done)
		h.Store.WatchAll(ctx, func(uid string) { changed <- uid })
	}()
	defer func() { cancel(); <-done }()
	expectChange(t, changed, "")
	open := defaults("open").Open
	for _, uid := range []string{"uid-1", "uid-2"} {
		if _, err := h.Store.Open(ctx, uid, open); err != nil {
			t.Fatal(err)
		}
		expectChange(t, changed, uid)
	}
}

func expectChange(t *testing.T, changed <-chan string, want string) {
	t.Helper()
	select {
	case got := <-changed:
		if got != want {
			t.Errorf("%q changed, want %q", got, want)
		}
	case <-time.After(patience):
		t.Errorf("no change, want one of %q", want)
	}
}
