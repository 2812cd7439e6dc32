package valkey

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"
)

// watch is a subscription that is renewed whenever it is lost. Each time, it subscribes, waits for the acknowledgment, reads, and
// only then receives messages, so that no change is missed.
type watch struct {
	store   *Store
	channel string
	pattern bool // the channel is a pattern
	read    func(context.Context) error
	resync  bool // also read at intervals
	message func(*redis.Message)
	lost    func(error) // called once whenever the subscription is lost

	isLost bool
}

func (w *watch) run(ctx context.Context) {
	for attempt := 0; ; attempt++ {
		begun := time.Now()
		err := w.session(ctx)
		if ctx.Err() != nil {
			return
		}
		if !w.isLost {
			w.isLost = true
			w.lost(err)
		}
		if time.Since(begun) > w.store.options.MaxBackoff {
			attempt = 0
		}
		sleep(ctx, pause(attempt, w.store.options.MaxBackoff, rand.Int64N))
	}
}

// session runs one connection until it ends.
func (w *watch) session(ctx context.Context) error {
	sub, err := w.store.subscribe(ctx, w.pattern, w.channel)
	if err != nil {
		return w.store.memberError(ctx, err)
	}
	defer sub.close()
	if err := w.read(ctx); err != nil {
		return err
	}
	w.isLost = false
	return w.follow(ctx, sub)
}

func (w *watch) follow(ctx context.Context, sub *subscription) error {
	pulse := time.NewTicker(w.store.options.PingInterval)
	defer pulse.Stop()
	resync := time.NewTimer(jittered(w.store.options.Resync))
	defer resync.Stop()
	asked := false // a ping was sent, and nothing has been received since
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-sub.failed:
			return unreachable(err)
		case m := <-sub.messages:
			asked = false
			w.take(m)
		case <-pulse.C:
			if asked && !w.takeWaiting(sub) {
				return fmt.Errorf("the store is unreachable: no answer to a ping for %v", w.store.options.PingInterval)
			}
			if err := sub.ping(ctx); err != nil {
				return unreachable(err)
			}
			asked = true
		case <-resync.C:
			if !w.resync {
				continue
			}
			if err := w.read(ctx); err != nil {
				return err
			}
			resync.Reset(jittered(w.store.options.Resync))
		}
	}
}

// take delivers a message. It ignores answers to pings.
func (w *watch) take(m any) {
	if m, ok := m.(*redis.Message); ok {
		w.message(m)
	}
}

// takeWaiting handles a waiting message and reports whether there was one. It is needed because a process that was starved of CPU
// sees the answer and the next tick at the same time.
func (w *watch) takeWaiting(sub *subscription) bool {
	select {
	case m := <-sub.messages:
		w.take(m)
		return true
	default:
		return false
	}
}
