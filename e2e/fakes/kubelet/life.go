package kubelet

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// ErrNotRunning means that a container cannot exit because it is not running.
var ErrNotRunning = errors.New("the container does not run")

// Life simulates one pod from its binding to its end. It does no I/O. Time and randomness are arguments; time must not
// go backward.
type Life struct {
	rules      Rules
	random     func() float64 // uniform in [0, 1)
	shape      Shape
	containers []container
	stopAt     time.Time // zero until the pod is deleted
	gone       bool
	version    int
	starts     []Started
}

// Started is one start of a container. Restarts is 0 for the first start.
type Started struct {
	Container string
	Restarts  int32
	At        time.Time
}

// Begin returns the life of a pod that was bound at the given time.
func Begin(now time.Time, shape Shape, rules Rules, random func() float64) *Life {
	l := &Life{rules: rules, random: random, shape: shape}
	for _, c := range shape.Containers {
		l.containers = append(l.containers, container{ContainerShape: c, state: created, due: now.Add(rules.StartDelay)})
	}
	return l
}

// Version increases with every change that a kubelet would report.
func (l *Life) Version() int { return l.version }

// Gone reports whether the pod was deleted and has stopped.
func (l *Life) Gone() bool { return l.gone }

// TakeStarts returns the starts since the last call, in order.
func (l *Life) TakeStarts() []Started {
	starts := l.starts
	l.starts = nil
	return starts
}

// Phase returns the pod's phase.
func (l *Life) Phase() corev1.PodPhase {
	phase, finished := corev1.PodSucceeded, true
	for _, c := range l.containers {
		switch {
		case c.state == created:
			return corev1.PodPending
		case c.Sidecar:
		case c.state != done:
			finished = false
		case c.exit.code != 0:
			phase = corev1.PodFailed
		}
	}
	if !finished {
		return corev1.PodRunning
	}
	return phase
}

// Next returns the time of the next change that happens on its own, or false if there is none.
func (l *Life) Next() (time.Time, bool) {
	if l.gone {
		return time.Time{}, false
	}
	next := l.stopAt
	for _, c := range l.containers {
		if !c.due.IsZero() && (next.IsZero() || c.due.Before(next)) {
			next = c.due
		}
	}
	return next, !next.IsZero()
}

// Advance applies all changes that are due by now, each at its own time and in order, so that the result does not
// depend on how often it is called.
func (l *Life) Advance(now time.Time) {
	for {
		at, ok := l.Next()
		if !ok || at.After(now) {
			return
		}
		if at.Equal(l.stopAt) {
			l.end(at)
			return
		}
		for i := range l.containers {
			if c := &l.containers[i]; c.due.Equal(at) {
				l.fire(c, at)
			}
		}
		l.finishSidecars(at)
	}
}

// Exit ends a container's process. An empty name means the first container that is not a sidecar. The pod's restart
// policy decides what follows. It returns ErrNotRunning if the container is not running.
func (l *Life) Exit(now time.Time, name string, code int32) error {
	l.Advance(now)
	for i := range l.containers {
		c := &l.containers[i]
		if c.Name != name && (name != "" || c.Sidecar) {
			continue
		}
		if c.state != running || l.gone {
			return fmt.Errorf("container %s: %w", c.Name, ErrNotRunning)
		}
		l.exited(c, now, code)
		return nil
	}
	return fmt.Errorf("there is no container %q", name)
}

// RemoveRecord removes the runtime's record of a container's last exit, as an agent does. The kubelet then starts a new
// container without a back-off, whatever the exit code was. If the container is already backing off, the kubelet does
// so at its next sync of the pod. A running container has no such record.
func (l *Life) RemoveRecord(now time.Time, name string) {
	l.Advance(now)
	for i := range l.containers {
		if c := &l.containers[i]; c.Name == name && (c.state == exited || c.state == backingOff) {
			c.unrecorded = true
		}
	}
}

// Look simulates an update of the pod's object: the kubelet checks the containers that are backing off.
func (l *Life) Look(now time.Time) {
	l.Advance(now)
	for i := range l.containers {
		if c := &l.containers[i]; c.state == backingOff {
			c.due = now
		}
	}
	l.Advance(now)
}

// Forgive resets the back-off of all containers, as ten minutes without failures would.
func (l *Life) Forgive() {
	for i := range l.containers {
		l.containers[i].backOff = 0
	}
}

// Stop starts the deletion of the pod. Further calls have no effect.
func (l *Life) Stop(now time.Time) {
	l.Advance(now)
	if l.stopAt.IsZero() {
		l.stopAt = now.Add(l.rules.StopDelay)
	}
}

// fire applies a container's due change.
func (l *Life) fire(c *container, at time.Time) {
	switch c.state {
	case created, starting:
		l.run(c, at)
	case running:
		l.exited(c, at, 0) // SucceedAfter has passed
	case exited, backingOff:
		l.decide(c, at)
	}
}

func (l *Life) run(c *container, at time.Time) {
	if c.state == starting {
		c.restarts++
	}
	c.state, c.since, c.due, c.unrecorded = running, at, time.Time{}, false
	if l.shape.SucceedAfter > 0 && !c.Sidecar {
		c.due = at.Add(l.shape.SucceedAfter)
	}
	l.starts = append(l.starts, Started{Container: c.Name, Restarts: c.restarts, At: at})
	l.version++
}

// exited does not change the version, because the kubelet has not noticed the exit yet.
func (l *Life) exited(c *container, at time.Time, code int32) {
	c.state, c.exit = exited, exit{code: code, started: c.since, at: at}
	c.due = at.Add(l.share(l.rules.Tick))
}

// decide does what the kubelet does when it notices an exited container.
func (l *Life) decide(c *container, at time.Time) {
	if c.state == exited {
		l.version++
	}
	if !c.restartable() {
		c.state, c.due = done, time.Time{}
		return
	}
	backOff := l.rules.BackOff
	if c.exit.at.Sub(c.backOffSet) > backOff.ResetAfter {
		c.backOff = 0
	}
	if c.unrecorded {
		c.state, c.due = starting, at.Add(l.rules.RestartDelay)
		return
	}
	if at.Sub(c.exit.at) < c.backOff {
		if c.state != backingOff {
			l.version++
		}
		c.state = backingOff
		c.due = at.Add(backOff.retry() + l.share(time.Duration(retryJitter*float64(backOff.retry()))))
		return
	}
	c.backOff, c.backOffSet = backOff.next(c.backOff), at
	c.state, c.due = starting, at.Add(l.rules.RestartDelay)
}

// finishSidecars ends the sidecars of a pod whose other containers have completed.
func (l *Life) finishSidecars(at time.Time) {
	if phase := l.Phase(); phase != corev1.PodSucceeded && phase != corev1.PodFailed {
		return
	}
	for i := range l.containers {
		if c := &l.containers[i]; c.state != done {
			c.finish(at, 0)
			l.version++
		}
	}
}

// end stops the running containers with SIGTERM.
func (l *Life) end(at time.Time) {
	const terminated = 143
	for i := range l.containers {
		if c := &l.containers[i]; c.state != done {
			c.finish(at, terminated)
		}
	}
	l.gone = true
	l.version++
}

func (l *Life) share(d time.Duration) time.Duration {
	return time.Duration(l.random() * float64(d))
}
