package loop

import (
	"context"
	"errors"
	"sync"
	"time"

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
	l.Report(err.Error())
	if since.IsZero() {
		since = time.Now()
		l.Log.Error(err.Error())
	}
	if time.Since(since) >= l.config.Patience {
		l.failure <- err
		l.config.Patience = far
	}
	time.AfterFunc(observeRetry, l.wake)
	return since
}

// readRetry is the pause while the store is unreachable.
const readRetry = time.Second

// updated passes on an observation of the group.
func (l *loop) updated(o rounds.Observation) {
	if errors.Is(o.Err, context.Canceled) {
		return
	}
	l.config.Contact.note(o.Err)
	l.post(worker.Updated{Observation: o})
}

// read reads the state of the group when the core requests it, and retries until the store replies.
func (l *loop) read() {
	for {
		ctx, cancel := context.WithTimeout(l.work, callTimeout)
		o := l.Store.Observe(ctx, l.config.JobSetUID, l.config.slot())
		cancel()
		l.updated(o)
		if o.Read || !l.sleep(readRetry) {
			return
		}
	}
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
