package loop

import (
	"context"
	"errors"
	"sync"
	"time"
)

// lookRetry is the pause after a look that failed.
const lookRetry = 200 * time.Millisecond

// startLooking observes the worker whenever it is woken, starting now. The returned function ends that.
func (l *loop) startLooking() (stop func()) {
	ctx, cancel := context.WithCancel(l.work)
	var looking sync.WaitGroup
	looking.Go(func() { l.Watcher.Watch(ctx, l.wake) })
	looking.Go(func() { l.look(ctx) })
	l.wake()
	return func() {
		cancel()
		looking.Wait()
	}
}

// wake asks for a look. It never blocks: one that is due is enough.
func (l *loop) wake() {
	select {
	case l.looks <- struct{}{}:
	default:
	}
}

func (l *loop) look(ctx context.Context) {
	var failing time.Time // since when
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.looks:
		}
		o, err := l.Driver.Observe(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			failing = l.lookFailed(failing, err)
		default:
			l.lookWorked(failing)
			failing = time.Time{}
			select {
			case l.events <- o:
			case <-ctx.Done(): // whoever ends the looks takes no events meanwhile
				return
			}
		}
	}
}

// lookFailed tells once what is wrong, and gives up after a while.
func (l *loop) lookFailed(since time.Time, err error) time.Time {
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
	time.AfterFunc(lookRetry, l.wake)
	return since
}

func (l *loop) lookWorked(failing time.Time) {
	if !failing.IsZero() {
		l.Log.Info("the container runtime answers again", "afterMs", time.Since(failing).Milliseconds())
	}
	l.Gate.Open()
}
