package process

import (
	"fmt"
	"sync"
	"syscall"
	"time"
)

// lostCode is used when another part of the program has reaped the child, and its exit code is unknown.
const lostCode = 137

// Spec says what to run. The child inherits the working directory of this process, and its standard streams unless
// Output replaces them.
type Spec struct {
	Path string   // of the program, absolute or relative to the working directory
	Args []string // the program's name comes first
	Env  []string
	// Output are file descriptors for the child's standard output and error; 0: those of this process.
	Output [2]uintptr
}

// Child is one run of a program, and all its descendants.
type Child struct {
	pid    int
	reaper *Reaper // nil: orphans that left the session are not reaped

	exited chan struct{}
	exit   Exit // valid once exited is closed

	mu     sync.Mutex
	reaped bool // reaped: the PID may be reused
}

// Start runs a program whose orphans are not tracked. Use it if this process does not adopt orphans, or adopts those of
// several trees and cannot distinguish them. See Reaper.Start.
func Start(s Spec) (*Child, error) {
	pid, err := fork(s)
	if err != nil {
		return nil, err
	}
	return watch(pid, nil), nil
}

// fork starts the leader. The kernel kills the leader if this process dies, so that no worker outlives its supervisor. Strictly, the kernel does so when the thread that forked exits. Threads of a Go program exit only if a
// goroutine is locked to one.
//
// more are file descriptors of the leader, from 3 on.
func fork(s Spec, more ...uintptr) (pid int, err error) {
	files := []uintptr{0, 1, 2}
	for i, output := range s.Output {
		if output != 0 {
			files[i+1] = output
		}
	}
	pid, err = syscall.ForkExec(s.Path, s.Args, &syscall.ProcAttr{
		Env: s.Env, Files: append(files, more...),
		Sys: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return 0, fmt.Errorf("starting %s: %w", s.Path, err)
	}
	return pid, nil
}

func watch(pid int, r *Reaper) *Child {
	c := &Child{pid: pid, reaper: r, exited: make(chan struct{})}
	go c.wait()
	return c
}

func (c *Child) wait() {
	exit, err := awaitExit(c.pid)
	if err != nil {
		exit.Code = lostCode
	}
	exit.At = time.Now()
	c.exit = exit
	close(c.exited)
}

// PID returns the PID of the leader, which is also the ID of its process group and session.
func (c *Child) PID() int { return c.pid }

// Exited returns a channel that is closed when the leader has exited. Other processes of the tree may still be running.
func (c *Child) Exited() <-chan struct{} { return c.exited }

// Exit waits until the leader has exited, and returns how.
func (c *Child) Exit() Exit {
	<-c.exited
	return c.exit
}

// Signal sends a signal to the leader's process group. It ignores a group that no longer exists.
func (c *Child) Signal(s syscall.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.reaped {
		_ = syscall.Kill(-c.pid, s)
	}
}

// reap reaps the leader.
func (c *Child) reap() {
	<-c.exited
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reaped = true
	reap(c.pid)
	c.reaper.forget(c.pid)
}
