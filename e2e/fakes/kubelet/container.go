package kubelet

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// state is the state of a container. See the diagram in the package comment.
type state int

const (
	created state = iota
	running
	exited // not yet noticed: the kubelet still reports it as running
	backingOff
	starting
	done
)

// exit records the last exit of a container's process.
type exit struct {
	code        int32
	started, at time.Time
}

type container struct {
	ContainerShape
	state    state
	since    time.Time // when the process started
	due      time.Time // when the state changes by itself; zero if it does not
	exit     exit
	restarts int32
	// backOff must pass after the exit before the next restart. backOffSet is when it was set.
	backOff    time.Duration
	backOffSet time.Time
	// unrecorded means that the record of the last exit was removed, so that neither the back-off nor the restart policy applies.
	unrecorded bool
}

// restartable reports whether the restart policy allows another start after the last exit.
func (c *container) restartable() bool {
	if c.unrecorded {
		return true
	}
	switch c.Policy {
	case corev1.RestartPolicyAlways:
		return true
	case corev1.RestartPolicyOnFailure:
		return c.exit.code != 0
	default:
		return false
	}
}

// finish ends a container for good. A container that has already exited keeps its exit code.
func (c *container) finish(at time.Time, code int32) {
	if c.state == running || c.state == created {
		c.exit = exit{code: code, started: c.since, at: at}
	}
	c.state, c.due = done, time.Time{}
}
