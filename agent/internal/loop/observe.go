package loop

import (
	"context"
	"errors"
	"sync"
	"time"
)

// observeRetry is the pause after a failed observation.
const observeRetry = 200 * time.Millisecond

// startObserving observes the worker now and after each wake. The returned function stops observing and waits until it
// has stopped.
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
			l.observeWorked(failing)
			failing = time.Time{}
			select {
			case l.events <- o:
			case <-ctx.Done(): // the loop receives no events while it stops observing
				return
			}
		}
	}
}

// observeFailed logs the first of several errors, and gives up once the errors have lasted for Patience.
func (l *loop) observeFailed(since time.Time, err error) time.Time {
	why := l.Watcher.Explain(err)
	l.Gate.Wait(why)
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

func (l *loop) observeWorked(failing time.Time) {
	if !failing.IsZero() {
		l.Log.Info("container runtime reachable again", "afterMs", time.Since(failing).Milliseconds())
	}
	l.Gate.Open()
}
