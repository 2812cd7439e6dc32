package supervisor

import (
	"errors"
	"io/fs"
	"syscall"
	"time"

	"github.com/holdfast-project/holdfast/agent/internal/process"
)

// Exit codes for a program that cannot be started, as in a shell.
const (
	notExecutable = 126
	notFound      = 127
)

// unkilledRetry is the pause before the next attempt to end a tree that survived SIGKILL.
const unkilledRetry = 2 * time.Second

// outOfMemory is the reason that container runtimes report when memory ran out.
const outOfMemory = "OOMKilled"

// live runs one instance from the barrier to its end.
func (s *Supervisor) live(i *instance) {
	select {
	case r := <-i.start:
		s.run(i, r)
	case e := <-i.end: // at the barrier
		s.endIdle(i, e)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	close(i.gone)
	s.begin()
}

// endIdle ends an instance whose program was not started.
func (s *Supervisor) endIdle(i *instance, e ending) {
	s.died(i, process.Exit{Code: process.CodeOf(e.signal), At: time.Now()})
	e.done <- nil
}

func (s *Supervisor) run(i *instance, r round) {
	program, order := s.placed(i, r)
	if order != nil {
		s.endIdle(i, *order)
		return
	}
	s.clearCheckpoint()
	s.beginProgress(i)
	i.kills, _ = s.options.MemoryKills()
	child, err := s.options.Start(s.inRound(program, r))
	if err != nil {
		s.options.Log.Error("the worker cannot be started", "instance", i.id, "error", err)
		s.died(i, process.Exit{Code: startCode(err), At: time.Now()})
		return
	}
	s.options.Log.Info("worker started", "instance", i.id, "pid", child.PID(), "generation", r.generation, "round", r.number,
		"tookUs", time.Since(r.at).Microseconds())
	s.mu.Lock()
	i.startedAt = time.Now()
	i.runs(child.Signal)
	s.mu.Unlock()
	s.notify()
	for !s.follow(i, child) {
	}
}

func startCode(err error) int {
	if errors.Is(err, fs.ErrNotExist) {
		return notFound
	}
	return notExecutable
}

// follow waits until an instance ends or is ordered to, and ends it. It returns false if some of its processes are
// left.
func (s *Supervisor) follow(i *instance, child *process.Child) (gone bool) {
	select {
	case e := <-i.end:
		waiting := []chan error{e.done}
		if pod, ends := s.awaitCheckpoint(i, child, e); ends { // the pod's signal and grace period now apply
			e, waiting = pod, append(waiting, pod.done)
		}
		err := s.options.End(child, e.signal, e.grace)
		if err == nil {
			s.died(i, child.Exit())
		}
		for _, done := range waiting {
			done <- err
		}
		return err == nil
	case <-child.Exited():
		if child.Exit().Code != 0 { // its peers need not wait for the rest of its tree, which may take seconds if a device is slow to close
			s.died(i, child.Exit())
		}
		err := s.options.End(child, syscall.SIGKILL, 0)
		s.died(i, child.Exit())
		if err != nil {
			s.unkilled(i, err)
		}
		return err == nil
	}
}

// unkilled handles a leader that is dead while some of its tree survives SIGKILL. The death is reported, so that the
// group restarts. This slot holds the group at the barrier until nothing is left, or the pod is recreated.
func (s *Supervisor) unkilled(i *instance, err error) {
	s.options.Log.Error("worker processes survived SIGKILL, not starting a new worker until they exit", "instance", i.id, "error", err)
	time.Sleep(unkilledRetry)
}

// died records how an instance ended. Later calls have no effect.
func (s *Supervisor) died(i *instance, e process.Exit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i.dead {
		return
	}
	i.dead, i.exit = true, e
	if n, ok := s.options.MemoryKills(); ok && n > i.kills && e.Signal == syscall.SIGKILL && !i.startedAt.IsZero() {
		i.reason = outOfMemory
	}
	if s.leaving && e.Code == 0 {
		i.exit.Code = process.CodeOf(syscall.SIGTERM)
	}
	i.signal = nil
	s.notify()
}
