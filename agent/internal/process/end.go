package process

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"syscall"
	"time"
)

const (
	// killPatience is how long killed processes may take to die. In that time the kernel frees memory and devices. A
	// process that hangs in a driver never dies.
	killPatience = 25 * time.Second
	// killAgain is the interval of scans for processes that were forked during the kill.
	killAgain = 200 * time.Millisecond
)

// ErrUnkilled means that processes survived SIGKILL.
var ErrUnkilled = errors.New("processes survived SIGKILL")

// End ends the tree and returns when none of its processes is alive. It sends the signal to the leader's group, waits
// up to grace for the tree to exit, and then sends SIGKILL to each process. Without a grace period it only sends
// SIGKILL. It may be called again after an error, but not concurrently.
func (c *Child) End(first syscall.Signal, grace time.Duration) error {
	if grace > 0 {
		c.Signal(first)
		if err := c.leave(time.Now().Add(grace)); err != nil {
			return err
		}
	}
	if err := c.kill(time.Now().Add(killPatience)); err != nil {
		return err
	}
	c.reap()
	return nil
}

// leave waits until the tree has exited by itself.
func (c *Child) leave(deadline time.Time) error {
	for {
		tree, err := c.members()
		if err != nil || len(tree) == 0 || !time.Now().Before(deadline) {
			return err
		}
		hold(tree).await(deadline)
	}
}

// kill kills every process of the tree. The signal to the group is atomic. Processes that left the group are killed one
// by one, until a scan finds none.
func (c *Child) kill(deadline time.Time) error {
	for {
		c.Signal(syscall.SIGKILL)
		c.awaitLeader(killAgain) // a scan costs more than waiting for the leader, which usually exits last
		tree, err := c.members()
		if err != nil {
			return err
		}
		if len(tree) == 0 {
			return nil
		}
		if !time.Now().Before(deadline) {
			return fmt.Errorf("%w: %v", ErrUnkilled, slices.Sorted(maps.Keys(tree)))
		}
		held := hold(tree)
		held.kill()
		held.await(earlier(deadline, time.Now().Add(killAgain)))
	}
}

func (c *Child) awaitLeader(most time.Duration) {
	late := time.NewTimer(most)
	defer late.Stop()
	select {
	case <-c.exited:
	case <-late.C:
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
