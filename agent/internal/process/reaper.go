// Package process runs a program as a tree of processes, and ends that tree as a whole.
//
// The program is the leader of its own session and process group. All its descendants belong to the tree, even those
// that have moved to another group, another session (a daemon) or another parent. A tree is gone when none of its
// processes is alive. A zombie does not count as alive unless some of its threads are still running.
//
// A leader that has exited remains a zombie until the tree is gone. Its PID, which also identifies the group and the
// session, therefore cannot be reused while signals are still being sent to it.
package process

import (
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Reaper adopts and reaps the orphaned descendants of this process, as PID 1 does. A program has one Reaper and runs
// one tree at a time, so every adopted process belongs to that tree.
type Reaper struct {
	mu      sync.Mutex
	leaders map[int]bool // still needed as zombies; true for templates, which are not part of the tree
}

// Adopt makes this process the reaper of its descendants.
func Adopt() (*Reaper, error) {
	if os.Getpid() != 1 {
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			return nil, fmt.Errorf("becoming the reaper of orphans: %w", err)
		}
	}
	if _, err := processes(); err != nil {
		return nil, err
	}
	r := &Reaper{leaders: map[int]bool{}}
	deaths := make(chan os.Signal, 1) // a buffer of one is enough: a scan finds them all
	signal.Notify(deaths, syscall.SIGCHLD)
	go func() {
		for range deaths {
			r.reapOrphans()
		}
	}()
	return r, nil
}

// Start runs a program. It tracks the program's orphans, so that End ends them too.
func (r *Reaper) Start(s Spec) (*Child, error) {
	return r.start(func() (int, error) { return fork(s) })
}

func (r *Reaper) start(fork func() (int, error)) (*Child, error) {
	pid, err := r.lead(false, fork)
	if err != nil {
		return nil, err
	}
	return watch(pid, r), nil
}

func (r *Reaper) lead(template bool, fork func() (int, error)) (pid int, err error) {
	r.mu.Lock() // a leader that dies immediately must not be mistaken for an orphan
	defer r.mu.Unlock()
	if pid, err = fork(); err == nil {
		r.leaders[pid] = template
	}
	return pid, err
}

// forget removes a leader that has been reaped. It does nothing if the Reaper is nil.
func (r *Reaper) forget(pid int) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.leaders, pid)
}

func (r *Reaper) reapOrphans() {
	r.mu.Lock()
	defer r.mu.Unlock()
	all, err := processes()
	if err != nil {
		return // the next death starts another scan
	}
	self := os.Getpid()
	for pid, p := range all {
		if _, needed := r.leaders[pid]; p.parent == self && p.state == zombie && !needed {
			_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
		}
	}
}
