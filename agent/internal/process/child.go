package process

import (
	"fmt"
	"sync"
	"syscall"
	"time"
)

// lostCode stands for an exit code that somebody else has taken.
const lostCode = 137

// Spec says what to run. The child has this process's working directory, and but for Output its standard streams.
type Spec struct {
	Path string   // of the program, absolute or from the working directory
	Args []string // the name of the program first
	Env  []string
	// Output are descriptors that it has as its standard output and error; 0: those of this process.
	Output [2]uintptr
}

// Child is one run of a program, and all that descends from it.
type Child struct {
	pid    int
	reaper *Reaper // nil: orphans that left the session are not reaped

	exited chan struct{}
	exit   Exit // once exited is closed

	mu     sync.Mutex
	buried bool // reaped: the number is no longer ours
}

// Start runs a program whose orphans go elsewhere, because this process does not adopt them, or adopts those of several
// trees and cannot tell them apart. See Reaper.Start.
func Start(s Spec) (*Child, error) {
	pid, err := fork(s)
	if err != nil {
		return nil, err
	}
	return watch(pid, nil), nil
}

// fork starts the leader. The kernel kills it if this process dies, so that no worker runs on without its supervisor.
// Strictly it does so if the thread ends that forks; no thread of a Go program does while no goroutine is bound to one.
func fork(s Spec) (pid int, err error) { return forkWith(s) }

// forkWith gives it more descriptors, from 3 on.
func forkWith(s Spec, more ...uintptr) (pid int, err error) {
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

// PID is the number of the leader, its group and its session.
func (c *Child) PID() int { return c.pid }

// Exited is closed when the leader has exited; the rest of the tree may live on.
func (c *Child) Exited() <-chan struct{} { return c.exited }

// Exit is how the leader ended; it waits for that.
func (c *Child) Exit() Exit {
	<-c.exited
	return c.exit
}

// Signal sends a signal to the leader's process group. A group that is gone is no error.
func (c *Child) Signal(s syscall.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.buried {
		_ = syscall.Kill(-c.pid, s)
	}
}

// bury reaps the leader.
func (c *Child) bury() {
	<-c.exited
	c.mu.Lock()
	defer c.mu.Unlock()
	c.buried = true
	reap(c.pid)
	c.reaper.forget(c.pid)
}
