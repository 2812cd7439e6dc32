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
	// read returns a function that passes on what was read.
	read    func(context.Context) (pass func(), err error)
	resync  bool // also read at intervals
	message func(*redis.Message)
	lost    func(error) // called once whenever the subscription is lost

	isLost bool
}

func (w *watch) run(ctx context.Context) {
	for attempt := 0; ; attempt++ {
		lasted, err := w.session(ctx)
		if ctx.Err() != nil {
			return
		}
		w.noteLost(err)
		if lasted > w.store.options.MaxBackoff {
			attempt = 0
		}
		sleep(ctx, pause(attempt, w.store.options.MaxBackoff, rand.Int64N))
	}
}

func (w *watch) noteLost(err error) {
	if !w.isLost {
		w.isLost = true
		w.lost(err)
	}
}

// session runs one connection until it ends. It returns how long it received messages.
func (w *watch) session(ctx context.Context) (lasted time.Duration, err error) {
	sub, err := w.subscribe(ctx)
	if err != nil {
		return 0, w.store.memberError(ctx, err)
	}
	defer sub.close()
	if err := w.begin(ctx, sub); err != nil {
		return 0, err
	}
	w.isLost = false
	begun := time.Now()
	err = w.follow(ctx, sub)
	return time.Since(begun), err
}

// subscribe connects. If this takes a long time, it reports a loss, because the store may be busy with the handshakes of other
// clients.
func (w *watch) subscribe(ctx context.Context) (sub *subscription, err error) {
	_ = w.await(func() { sub, err = w.store.subscribe(ctx, w.pattern, w.channel) }, nil, nil)
	return sub, err
}

// begin makes the first read of a session. Calls use a different connection, which may be established later, so a failed read is not
// a reason to close the subscription.
func (w *watch) begin(ctx context.Context, sub *subscription) error {
	giveUp := time.Now().Add(handshakeTimeout)
	for attempt := 0; ; attempt++ {
		ended, err := w.readFirst(ctx, sub)
		if err == nil || ended || ctx.Err() != nil || time.Now().After(giveUp) {
			return err
		}
		w.noteLost(err)
		sleep(ctx, pause(attempt, w.store.options.MaxBackoff, rand.Int64N))
	}
}

// readFirst waits until calls have a connection, for as long as the subscription lasts. ended means that the subscription has ended.
func (w *watch) readFirst(ctx context.Context, sub *subscription) (ended bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	var pass func()
	if lost := w.await(func() { pass, err = w.read(ctx) }, sub.failed, cancel); lost != nil {
		return true, unreachable(lost)
	}
	if err == nil {
		pass()
	}
	return false, err
}

// await waits until an operation has ended. If this takes a long time, it reports a loss. It cancels the operation when it
// receives an error from failed, which it then returns.
func (w *watch) await(operation func(), failed <-chan error, cancel func()) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		operation()
	}()
	late := time.NewTimer(w.answerLimit())
	defer late.Stop()
	for {
		select {
		case <-done:
			return nil
		case err := <-failed:
			cancel()
			<-done
			return err
		case <-late.C:
			w.noteLost(fmt.Errorf("the store is unreachable: not connected after %v", w.answerLimit()))
		}
	}
}

// answerLimit returns how long the store may take to answer before it counts as lost.
func (w *watch) answerLimit() time.Duration { return 2 * w.store.options.Timeout }

// readAgain reads on existing connections.
func (w *watch) readAgain(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, w.answerLimit())
	defer cancel()
	pass, err := w.read(ctx)
	if err == nil {
		pass()
	}
	return err
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
			if err := sub.pubsub.Ping(ctx); err != nil {
				return unreachable(err)
			}
			asked = true
		case <-resync.C:
			if !w.resync {
				continue
			}
			if err := w.readAgain(ctx); err != nil {
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

const (
	minPause   = 50 * time.Millisecond
	firstRange = 200 * time.Millisecond
)

// pause returns how long to wait before the given attempt (from 0) to reconnect. It uses full jitter over a range that doubles
// with each attempt, so that agents do not all reconnect to a restarted server at once.
func pause(attempt int, longest time.Duration, random func(n int64) int64) time.Duration {
	width := firstRange << min(attempt, 20)
	width = max(1, min(width, longest-minPause))
	return minPause + time.Duration(random(int64(width)))
}

// jittered returns a random duration between half of the interval and the whole interval.
func jittered(interval time.Duration) time.Duration {
	half := max(1, interval/2)
	return half + rand.N(half)
}

func sleep(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-ctx.Done()
}
