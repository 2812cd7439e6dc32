package process

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// lostCode is used when another part of the program has reaped the child, in which case its exit code is unknown.
const lostCode = 137

// Spec describes the program to run. The child inherits this process's working directory, and its standard streams
// unless Output replaces them.
type Spec struct {
	Path string   // of the program, absolute or relative to the working directory
	Args []string // starting with the program's name
	Env  []string
	// Output holds file descriptors for the child's standard output and error. 0 means those of this process.
	Output [2]uintptr
}

// Child is one run of a program, and all its descendants.
type Child struct {
	pid    int
	reaper *Reaper // nil: orphans outside the session are not reaped

	exited chan struct{}
	exit   Exit // valid once exited is closed

	mu     sync.Mutex
	reaped bool // the PID may have been reused
}

// Start runs a program without tracking its orphans. Use it if this process does not adopt orphans, or adopts those of
// several trees and cannot distinguish them. See Reaper.Start.
func Start(s Spec) (*Child, error) {
	pid, err := fork(s)
	if err != nil {
		return nil, err
	}
	return watch(pid, nil), nil
}

// fork starts the leader. The kernel kills the leader if this process dies, so that no worker outlives its supervisor.
// Strictly speaking, the kernel does so when the thread that forked exits, but a Go program's threads exit only if a
// goroutine is locked to them.
//
// more holds additional file descriptors for the leader, numbered from 3.
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

// PID returns the leader's PID, which is also the ID of its process group and session.
func (c *Child) PID() int { return c.pid }

// Exited returns a channel that is closed when the leader has exited. Other processes of the tree may still be running.
func (c *Child) Exited() <-chan struct{} { return c.exited }

// Exit waits until the leader has exited, and returns how it exited.
func (c *Child) Exit() Exit {
	<-c.exited
	return c.exit
}

// Signal sends a signal to the leader's process group. It does nothing if the group no longer exists.
func (c *Child) Signal(s syscall.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.reaped {
		_ = syscall.Kill(-c.pid, s)
	}
}

func (c *Child) reap() {
	<-c.exited
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reaped = true
	_, _ = syscall.Wait4(c.pid, nil, syscall.WNOHANG, nil)
	c.reaper.forget(c.pid)
}

const (
	// killPatience is how long killed processes may take to die. During that time the kernel releases memory and
	// devices. A process that hangs in a driver never dies.
	killPatience = 25 * time.Second
	// killAgain is the interval between scans for processes that were forked while the tree was being killed.
	killAgain = 200 * time.Millisecond
)

// ErrUnkilled means that processes survived SIGKILL.
var ErrUnkilled = errors.New("processes survived SIGKILL")

// End ends the tree and returns once none of its processes is alive. It sends the signal to the leader's group, waits
// up to grace for the tree to exit, and then sends SIGKILL to each process. Without a grace period it sends only
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

// leave waits until the tree has exited on its own, or until the deadline.
func (c *Child) leave(deadline time.Time) error {
	for {
		tree, err := c.members()
		if err != nil || len(tree) == 0 || !time.Now().Before(deadline) {
			return err
		}
		await(hold(tree), deadline)
	}
}

// kill kills every process of the tree. The signal to the group is atomic. Processes outside the group are killed one
// by one, until a scan finds none.
func (c *Child) kill(deadline time.Time) error {
	for {
		c.Signal(syscall.SIGKILL)
		select { // a scan is more expensive than waiting for the leader, which usually exits last
		case <-c.exited:
		case <-time.After(killAgain):
		}
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
		for _, p := range held {
			_ = p.Kill()
		}
		await(held, time.Now().Add(min(killAgain, time.Until(deadline))))
	}
}

// signalled is added to the number of a signal to get an exit code, as in a shell.
const signalled = 128

// Exit describes how a leader ended.
type Exit struct {
	Code   int            // the exit code; 128 plus the signal's number if it was killed
	Signal syscall.Signal // the signal that killed it; 0: none
	At     time.Time      // when this process detected the exit
}

// CodeOf returns the exit code that represents a signal.
func CodeOf(s syscall.Signal) int { return signalled + int(s) }

// exitedByItself is CLD_EXITED, a code in the kernel's siginfo for SIGCHLD. All other codes that waitid returns here
// mean death by a signal.
const exitedByItself = 1

// siginfo is filled in by waitid on 64-bit Linux. The type in x/sys hides the status.
type siginfo struct {
	signo, errno, code, _ int32
	pid                   int32
	uid                   uint32
	status                int32
	_                     [100]byte
}

// awaitExit blocks until a child has exited, and leaves the child as a zombie.
func awaitExit(pid int) (e Exit, err error) {
	var info siginfo
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, unix.P_PID, uintptr(pid), uintptr(unsafe.Pointer(&info)),
			unix.WEXITED|unix.WNOWAIT, 0, 0)
		switch {
		case errno == 0 && info.code == exitedByItself:
			return Exit{Code: int(info.status)}, nil
		case errno == 0:
			killer := syscall.Signal(info.status)
			return Exit{Code: CodeOf(killer), Signal: killer}, nil
		case !errors.Is(errno, syscall.EINTR):
			return Exit{}, fmt.Errorf("waiting for process %d: %w", pid, errno)
		}
	}
}

// memoryEvents is the file of cgroup v2 in which the line "oom_kill N" counts how often the kernel has killed a process of
// this container because the container was out of memory.
var memoryEvents = "/sys/fs/cgroup/memory.events"

// OutOfMemoryKills returns the number of out-of-memory kills in this container. ok is false if the kernel does not
// report it.
func OutOfMemoryKills() (n uint64, ok bool) {
	content, _ := os.ReadFile(memoryEvents)
	for line := range bytes.Lines(content) {
		if found, _ := fmt.Sscanf(string(line), "oom_kill %d", &n); found == 1 {
			return n, true
		}
	}
	return 0, false
}
