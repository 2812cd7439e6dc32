package tcp

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/relay"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// watch runs a Watch, which switches between the store and a relay.
type watch struct {
	*Members
	group string
	own   rounds.Slot
	on    func(rounds.Observation)

	stop    context.CancelFunc // stops the server; nil if none is running
	serving sync.WaitGroup
}

// Watch implements rounds.Members.
func (m *Members) Watch(ctx context.Context, group string, own rounds.Slot, on func(rounds.Observation)) {
	w := &watch{Members: m, group: group, own: own, on: on}
	defer w.endServer()
	var found *client
	if m.options.Plan.From > 0 {
		timed, cancel := context.WithTimeout(ctx, callTimeout)
		_ = m.Observe(timed, group, own) // determines the relay; errors are ignored because the place is read again with each level
		cancel()
		found = m.seek(ctx, group)
	}
	for first := true; ctx.Err() == nil; first = false {
		if found != nil {
			w.follow(ctx, found)
			found = nil
		} else {
			found = w.watchStore(ctx, first)
		}
		if ctx.Err() == nil {
			on(rounds.Observation{Err: coordination.ErrSwitched})
		}
	}
	if found != nil {
		found.end()
	}
}

// serve starts or stops the relay, depending on the slot in which the pod works.
func (w *watch) serve(ctx context.Context) {
	slot, relays := w.role()
	running := w.server.Load()
	switch {
	case running != nil && (!relays || running.slot != slot):
		w.endServer()
	case running == nil && relays:
		if err := w.startServer(context.WithoutCancel(ctx), slot); err != nil {
			w.options.Log.Warn("cannot start the relay; its members will use the store", "error", err)
		}
	}
}

func (w *watch) startServer(ctx context.Context, slot string) error {
	host, err := w.host()
	if err != nil {
		return err
	}
	store, err := w.options.Open()
	if err != nil {
		return err
	}
	s, err := listen(store, w.group, slot, host)
	if err != nil {
		return errors.Join(err, store.Close())
	}
	ctx, w.stop = context.WithCancel(ctx)
	w.server.Store(s)
	w.options.Log.Info("relaying for other members", "address", s.record.Address)
	w.serving.Go(func() {
		s.run(ctx)
		_ = store.Close()
	})
	return nil
}

func (w *watch) endServer() {
	w.server.Store(nil)
	if w.stop != nil {
		w.stop()
		w.serving.Wait()
		w.stop = nil
	}
}

// watchStore watches the store until it has connected to a relay, and returns that connection. first means that the Watch has just
// begun.
func (w *watch) watchStore(ctx context.Context, first bool) (found *client) {
	store, err := w.direct()
	if err != nil {
		w.on(rounds.Observation{Err: err})
		sleep(ctx, time.Second)
		return nil
	}
	w.serve(ctx)
	watching, stop := context.WithCancel(ctx)
	defer stop()
	var seeking sync.WaitGroup
	seeking.Go(func() {
		defer stop()
		found = w.seekLater(watching, first)
	})
	store.Watch(watching, w.group, w.own, func(o rounds.Observation) {
		w.note(w.own, o)
		if s := w.server.Load(); s != nil {
			s.forward(o)
		}
		w.on(o)
	})
	seeking.Wait()
	return found
}

// seekLater looks for a relay at intervals, until it has found one or ctx is done.
func (w *watch) seekLater(ctx context.Context, first bool) *client {
	for ctx.Err() == nil {
		wait := relay.Back(rand.Float64())
		if first { // the pod may have started before its relay
			wait /= 6
		}
		sleep(ctx, wait)
		if w.options.Plan.From <= 0 || ctx.Err() != nil {
			continue
		}
		w.serve(ctx)
		if c := w.seek(ctx, w.group); c != nil {
			return c
		}
		first = false
	}
	return nil
}

// follow observes the group through a relay until the connection ends.
func (w *watch) follow(ctx context.Context, c *client) {
	w.client.Store(c)
	defer w.client.Store(nil)
	defer c.end()
	idle := time.NewTicker(idleStore)
	defer idle.Stop()
	for following := w.read(ctx, c); following; {
		select {
		case <-ctx.Done():
			return
		case <-idle.C:
			w.closeIdle()
			if _, relays := w.role(); relays {
				return // the pod was assigned a relay's slot
			}
		case m, open := <-c.told:
			switch {
			case !open:
				w.options.Log.Info("the relay is not responding, using the store")
				return
			case m.kind() == kindOutage:
				w.on(rounds.Observation{Err: parseError(m.field(1))})
			case m.kind() == kindRead:
				following = w.read(ctx, c) // the relay does not forward places
			default:
				level, err := rounds.ParseLevel(m.field(1))
				if err != nil {
					return
				}
				w.on(rounds.Observation{Level: level})
			}
		}
	}
}

// read observes the group through the relay. It returns false if the relay does not answer before the member leaves it.
func (w *watch) read(ctx context.Context, c *client) (answered bool) {
	o := c.observe(ctx, w.own)
	if errors.Is(o.Err, errLeft) || ctx.Err() != nil {
		return false
	}
	w.note(w.own, o)
	w.on(o)
	return true
}

func sleep(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-ctx.Done()
}
