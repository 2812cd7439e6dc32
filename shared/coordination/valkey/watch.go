package valkey

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/functions"
)

// Watch implements coordination.Agent. `on` runs in the caller's goroutine; while it blocks nothing is received, and the
// server cuts a subscriber that leaves too much unread, which then reads again.
func (s *Store) Watch(ctx context.Context, group string, on func(coordination.Observation)) {
	w := watch{
		store:   s,
		channel: functions.Channel(group),
		read: func(ctx context.Context) error {
			o, err := s.readLevel(ctx, group)
			if err == nil {
				on(o)
			}
			return err
		},
		resync:  true,
		message: func(m *redis.Message) { on(broadcast(m)) },
		lost:    func(err error) { on(coordination.Observation{Err: err}) },
	}
	w.run(ctx)
}

// WatchAll implements coordination.Leader. The leader brings its own rules on each connection, so that a server that came
// back with older ones gets them at once.
func (s *Store) WatchAll(ctx context.Context, on func(group string)) {
	w := watch{
		store:   s,
		channel: functions.AllChannels(),
		pattern: true,
		read: func(ctx context.Context) error {
			err := s.EnsureLibrary(ctx)
			if err == nil {
				on("")
			}
			return err
		},
		message: func(m *redis.Message) { on(functions.GroupOf(m.Channel)) },
		lost:    s.options.OnLost,
	}
	w.run(ctx)
}

// readLevel reads the level as an agent. No group and foreign values are something to observe; an error means that the
// store is out of reach.
func (s *Store) readLevel(ctx context.Context, group string) (coordination.Observation, error) {
	fields, err := s.call(ctx, group, functions.Summary()).StringSlice()
	if err != nil {
		err = s.asAgent(ctx, err)
		if errors.Is(err, coordination.ErrNoGroup) || errors.Is(err, coordination.ErrForeignValue) {
			return coordination.Observation{Read: true, Err: err}, nil
		}
		return coordination.Observation{}, err
	}
	summary, err := functions.ParseSummary(fields)
	return coordination.Observation{Read: true, Level: summary.Level, Err: err}, nil
}

func broadcast(m *redis.Message) coordination.Observation {
	level, err := coordination.ParseLevel(m.Payload)
	if err != nil {
		return coordination.Observation{Err: &coordination.ForeignValueError{Key: m.Channel, Field: coordination.FieldMessage, Value: m.Payload}}
	}
	return coordination.Observation{Level: level}
}

// watch is a subscription that is renewed whenever it is lost: subscribe, wait for the acknowledgement, read, and only
// then take messages, so that no change falls between.
type watch struct {
	store   *Store
	channel string
	pattern bool // the channel is a pattern
	read    func(context.Context) error
	resync  bool // read at intervals too
	message func(*redis.Message)
	lost    func(error) // called once for each loss

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

// session is the life of one connection.
func (w *watch) session(ctx context.Context) error {
	sub, err := w.store.subscribe(ctx, w.pattern, w.channel)
	if err != nil {
		return unreachable(err)
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
	asked := false // a ping is out, and nothing has been heard since
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
			if err := w.reread(ctx); err != nil {
				return err
			}
			resync.Reset(jittered(w.store.options.Resync))
		}
	}
}

// take passes on what is news; an answer to a ping is none.
func (w *watch) take(m any) {
	if m, ok := m.(*redis.Message); ok {
		w.message(m)
	}
}

// takeWaiting takes what has come, and tells whether anything has: a process that was kept from its processor finds the answer and the next
// tick at the same time.
func (w *watch) takeWaiting(sub *subscription) bool {
	select {
	case m := <-sub.messages:
		w.take(m)
		return true
	default:
		return false
	}
}

func (w *watch) reread(ctx context.Context) error {
	if !w.resync {
		return nil
	}
	return w.read(ctx)
}
