package loop

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/coordination/worker"
)

// observeRetry is the pause after a failed observation.
const observeRetry = 200 * time.Millisecond

// startObserving observes the worker now and after each wake-up. The returned function stops this, and waits until no
// observation is in progress.
func (l *loop) startObserving() (stop func()) {
	ctx, cancel := context.WithCancel(l.work)
	var observing sync.WaitGroup
	observing.Go(func() { l.Watcher.Watch(ctx, l.wake) })
	observing.Go(func() { l.observe(ctx) })
	l.wake()
	return func() {
		cancel()
		observing.Wait()
	}
}

// wake requests an observation. It never blocks, because one pending request is enough.
func (l *loop) wake() {
	select {
	case l.due <- struct{}{}:
	default:
	}
}

func (l *loop) observe(ctx context.Context) {
	var failing time.Time // zero while observations succeed
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.due:
		}
		o, err := l.Driver.Observe(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			failing = l.observeFailed(failing, err)
		default:
			if !failing.IsZero() {
				l.Log.Info("container runtime reachable again", "afterMs", time.Since(failing).Milliseconds())
				failing = time.Time{}
			}
			l.Report("")
			select {
			case l.events <- o:
			case <-ctx.Done(): // the loop receives no events while it stops observing
				return
			}
		}
	}
}

// observeFailed logs the first of consecutive errors, and gives up if they last for longer than Patience.
func (l *loop) observeFailed(since time.Time, err error) time.Time {
	why := l.Watcher.Explain(err)
	l.Report(why)
	if since.IsZero() {
		since = time.Now()
		l.Log.Error(why)
	}
	if time.Since(since) >= l.config.Patience {
		l.failure <- errors.New(why)
		l.config.Patience = far
	}
	time.AfterFunc(observeRetry, l.wake)
	return since
}

// readRetry is the pause while the store is unreachable.
const readRetry = time.Second

// updated passes on an observation from the store's Watch. If the level was read rather than published, it reads the
// slot's place and posts it before the level, because the leader may have changed both together.
func (l *loop) updated(o rounds.Observation) {
	if errors.Is(o.Err, context.Canceled) {
		return
	}
	l.config.Contact.note(o.Err)
	if !o.Read || o.Err != nil {
		l.postUpdate(worker.Updated{Observation: o})
		return
	}
	p, err := l.place()
	l.config.Contact.note(err)
	if isReply(err) {
		l.postUpdate(placed(p, o.Level, err)...)
		return
	}
	l.postUpdate(worker.Updated{Observation: rounds.Observation{Err: err}})
	if l.sleep(readRetry) {
		l.read() // the level may have changed by now
	}
}

// read reads the level when the core requests it. It reads again if the Watch has posted something in the meantime,
// which may be newer.
func (l *loop) read() {
	for {
		heard := l.heardSoFar()
		level, err := l.level()
		var p rounds.Place
		if err == nil {
			p, err = l.place()
		}
		l.config.Contact.note(err)
		if !isReply(err) {
			l.postUpdate(worker.Updated{Observation: rounds.Observation{Err: err}})
			if !l.sleep(readRetry) {
				return
			}
			continue
		}
		if l.postUnless(heard, placed(p, level, err)) {
			return
		}
	}
}

// placed converts the result of a read into events for the core.
func placed(p rounds.Place, level rounds.Level, err error) []worker.Event {
	if err != nil {
		return []worker.Event{worker.Updated{Observation: rounds.Observation{Read: true, Err: err}}}
	}
	return []worker.Event{worker.Placed{Place: p}, worker.Updated{Observation: rounds.Observation{Level: level, Read: true}}}
}

func (l *loop) level() (rounds.Level, error) {
	ctx, cancel := context.WithTimeout(l.work, callTimeout)
	defer cancel()
	return l.Store.Level(ctx, l.config.JobSetUID)
}

func (l *loop) place() (rounds.Place, error) {
	ctx, cancel := context.WithTimeout(l.work, callTimeout)
	defer cancel()
	return l.Store.Place(ctx, l.config.JobSetUID, l.config.slot())
}

// isReply reports whether the store replied, possibly with an error.
func isReply(err error) bool {
	return err == nil || errors.Is(err, coordination.ErrNoGroup) || errors.Is(err, coordination.ErrUnknownSlot) || errors.Is(err, coordination.ErrForeignValue)
}

func (l *loop) postUpdate(events ...worker.Event) {
	l.updates.Lock()
	defer l.updates.Unlock()
	l.heard++
	for _, e := range events {
		l.post(e)
	}
}

// postUnless posts events, unless an update has arrived since heard was read; in that case it returns false. It also
// returns true if the loop has ended.
func (l *loop) postUnless(heard int, events []worker.Event) bool {
	l.updates.Lock()
	defer l.updates.Unlock()
	if l.heard != heard && l.work.Err() == nil {
		return false
	}
	for _, e := range events {
		l.post(e)
	}
	return true
}

func (l *loop) heardSoFar() int {
	l.updates.Lock()
	defer l.updates.Unlock()
	return l.heard
}

// sleep pauses for d. It returns false if the loop has ended.
func (l *loop) sleep(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-l.work.Done():
		return false
	}
}
