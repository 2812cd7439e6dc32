package cri

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/agent/internal/testing/fakecri"
)

// watch counts the calls to wake until the test ends.
func watch(t *testing.T, c *Client) *atomic.Int64 {
	ctx, cancel := context.WithCancel(t.Context())
	var wakes atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.Watch(ctx, func() { wakes.Add(1) })
	}()
	t.Cleanup(func() { cancel(); <-done })
	return &wakes
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 300 {
		if ok() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("not within 3s: %s", what)
}

func (c *Client) subscribed(r *fakecri.Runtime) int {
	var n int
	r.Change(func() { n = r.Subscribed })
	return n
}

func TestAnEventWakesImmediately(t *testing.T) {
	r := fakecri.New("pod", "worker")
	c := serve(t, r, time.Hour)
	wakes := watch(t, c)
	eventually(t, "subscribed", func() bool { return c.subscribed(r) == 1 })
	before := wakes.Load()
	r.Start("a")
	eventually(t, "woken", func() bool { return wakes.Load() > before })
	if !c.live.Load() {
		t.Error("the stream is not live although events arrive")
	}
}

func TestEventsOfOtherPodsDoNotWake(t *testing.T) {
	r := fakecri.New("another pod", "worker")
	c := serve(t, r, time.Hour)
	wakes := watch(t, c)
	eventually(t, "subscribed", func() bool { return c.subscribed(r) == 1 && wakes.Load() == 1 })
	r.Start("a")
	eventually(t, "live", c.live.Load)
	if wakes.Load() != 1 {
		t.Errorf("%d wake-ups, want that of the subscription", wakes.Load())
	}
}

func TestWatchPollsUntilABrokenStreamIsReplaced(t *testing.T) {
	r := fakecri.New("pod", "worker")
	c := serve(t, r, 10*time.Millisecond)
	wakes := watch(t, c)
	eventually(t, "subscribed", func() bool { return c.subscribed(r) == 1 })
	r.Start("a")
	eventually(t, "live", c.live.Load)
	r.Change(func() { r.NoEvents = true })
	r.CutEvents()
	eventually(t, "not live", func() bool { return !c.live.Load() })
	before := wakes.Load()
	eventually(t, "polled", func() bool { return wakes.Load() > before+5 })
	r.Change(func() { r.NoEvents = false })
	n := c.subscribed(r)
	eventually(t, "subscribed again", func() bool { return c.subscribed(r) > n })
	eventually(t, "live again", func() bool {
		r.Exit("a", 1)
		r.Start("b")
		return c.live.Load()
	})
}

func TestWatchPollsWithoutEvents(t *testing.T) {
	cases := map[string]func(*fakecri.Runtime){
		"events are unimplemented":                          func(r *fakecri.Runtime) { r.NoEvents = true },
		"events never come":                                 func(r *fakecri.Runtime) { r.Silent = true },
		"a runtime that sends each event to one subscriber": func(r *fakecri.Runtime) { r.Version = "1.7.13" },
		"a runtime that is not running":                     func(r *fakecri.Runtime) { r.Close() },
	}
	for name, setUp := range cases {
		t.Run(name, func(t *testing.T) {
			r := fakecri.New("pod", "worker")
			c := serve(t, r, 10*time.Millisecond)
			r.Change(func() { setUp(r) })
			wakes := watch(t, c)
			eventually(t, "polled", func() bool { return wakes.Load() > 10 })
		})
	}
}

func TestWatchDoesNotSubscribeToARuntimeWithSharedEvents(t *testing.T) {
	r := fakecri.New("pod", "worker")
	r.Version = "v1.7.28"
	c := serve(t, r, 10*time.Millisecond)
	wakes := watch(t, c)
	eventually(t, "polled", func() bool { return wakes.Load() > 20 })
	if n := c.subscribed(r); n != 0 {
		t.Errorf("subscribed %d times: this takes events from the kubelet", n)
	}
}

func TestWatchPollsSeldomWhileEventsArrive(t *testing.T) {
	r := fakecri.New("pod", "worker")
	c := serve(t, r, 10*time.Millisecond)
	c.safety = 200 * time.Millisecond
	wakes := watch(t, c)
	eventually(t, "subscribed", func() bool { return c.subscribed(r) == 1 })
	r.Start("a")
	eventually(t, "live", c.live.Load)
	before, start := wakes.Load(), time.Now()
	eventually(t, "the safety poll", func() bool { return wakes.Load() >= before+2 })
	if took := time.Since(start); took < 200*time.Millisecond {
		t.Errorf("two polls within %v", took)
	}
}

// TestASlowConsumerDoesNotBlockTheStream sends more events than any buffer can hold while the worker is not being
// observed.
func TestASlowConsumerDoesNotBlockTheStream(t *testing.T) {
	r := fakecri.New("pod", "worker")
	c := serve(t, r, time.Hour)
	slot := make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.Watch(ctx, func() {
			select {
			case slot <- struct{}{}:
			default:
			}
		})
	}()
	eventually(t, "subscribed", func() bool { return c.subscribed(r) == 1 })
	for range 3000 {
		r.Start("a")
	}
	eventually(t, "live", c.live.Load)
	cancel()
	<-done
}
