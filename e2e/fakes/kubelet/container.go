package kubelet

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// state is where a container is; see the package's diagram.
type state int

const (
	created state = iota
	running
	exited // and not noticed yet: the kubelet still reports it as running
	backingOff
	starting
	done
)

// exit is the last end of a container's process.
type exit struct {
	code        int32
	started, at time.Time
}

type container struct {
	ContainerShape
	state    state
	since    time.Time // the process's start
	due      time.Time // when the state changes by itself; zero if it does not
	exit     exit
	restarts int32
	// backOff must have passed since the exit before the next restart; backOffSet is when it was decided.
	backOff    time.Duration
	backOffSet time.Time
	// unrecorded: the record of the last exit was removed, on which the back-off and the restart policy rest.
	unrecorded bool
}

// restartable applies the restart policy to the last exit.
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

// finish ends a container for good. One that ended by itself before keeps its exit.
func (c *container) finish(at time.Time, code int32) {
	if c.state == running || c.state == created {
		c.exit = exit{code: code, started: c.since, at: at}
	}
	c.state, c.due = done, time.Time{}
}
