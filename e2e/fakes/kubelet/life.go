package kubelet

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// ErrNotRunning says that a container cannot exit because it does not run.
var ErrNotRunning = errors.New("the container does not run")

// Life is one pod from its binding to its end. It does no I/O; time and chance are arguments, and time never goes back.
type Life struct {
	rules      Rules
	random     func() float64 // evenly from [0, 1)
	shape      Shape
	containers []container
	stopAt     time.Time // zero until the pod is deleted
	gone       bool
	version    int
	starts     []Started
}

// Started is a container that began to run, again if Restarts is not 0.
type Started struct {
	Container string
	Restarts  int32
	At        time.Time
}

// Begin is the life of a pod that was bound at the given time.
func Begin(now time.Time, shape Shape, rules Rules, random func() float64) *Life {
	l := &Life{rules: rules, random: random, shape: shape}
	for _, c := range shape.Containers {
		l.containers = append(l.containers, container{ContainerShape: c, state: created, due: now.Add(rules.StartDelay)})
	}
	return l
}

// Version grows with every change that a kubelet would report.
func (l *Life) Version() int { return l.version }

// Gone reports whether the pod has been stopped after its deletion.
func (l *Life) Gone() bool { return l.gone }

// TakeStarts returns the starts since the last call, in order.
func (l *Life) TakeStarts() []Started {
	starts := l.starts
	l.starts = nil
	return starts
}

// Phase is the pod's phase.
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

// Next is when something happens by itself, or false if nothing will.
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

// Advance lets everything happen that is due by now, each thing at its own time and in order, so that the outcome does not
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

// Exit ends a container's process, the first that is no sidecar if the name is empty. What follows is up to the pod's
// restart policy. Returns ErrNotRunning.
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

// RemoveRecord takes away what the runtime remembers of a container's last exit, as an agent does. The kubelet then starts a
// new one without a back-off, whatever the exit code was; if it backs off already, at its next look. A container that runs has
// no such record.
func (l *Life) RemoveRecord(now time.Time, name string) {
	l.Advance(now)
	for i := range l.containers {
		if c := &l.containers[i]; c.Name == name && (c.state == exited || c.state == backingOff) {
			c.unrecorded = true
		}
	}
}

// Look is a change of the pod's object: the kubelet looks at the containers that it backs off from.
func (l *Life) Look(now time.Time) {
	l.Advance(now)
	for i := range l.containers {
		if c := &l.containers[i]; c.state == backingOff {
			c.due = now
		}
	}
	l.Advance(now)
}

// Forgive is ten quiet minutes in a moment: no container has failed before, as far as the kubelet knows.
func (l *Life) Forgive() {
	for i := range l.containers {
		l.containers[i].backOff = 0
	}
}

// Stop is the deletion of the pod; a second one changes nothing.
func (l *Life) Stop(now time.Time) {
	l.Advance(now)
	if l.stopAt.IsZero() {
		l.stopAt = now.Add(l.rules.StopDelay)
	}
}

// fire is the one place where a container's time comes.
func (l *Life) fire(c *container, at time.Time) {
	switch c.state {
	case created, starting:
		l.run(c, at)
	case running:
		l.exited(c, at, 0) // it had a time to succeed after
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

// exited is not a new version: nobody has noticed yet.
func (l *Life) exited(c *container, at time.Time, code int32) {
	c.state, c.exit = exited, exit{code: code, started: c.since, at: at}
	c.due = at.Add(l.share(l.rules.Tick))
}

// decide is the kubelet that looks at an exited container.
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

// finishSidecars ends the helpers of a pod whose work is done.
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

// end stops what runs: it takes the signal and leaves.
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
