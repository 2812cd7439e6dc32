package supervisor

import (
	"errors"
	"io/fs"
	"syscall"
	"time"

	"github.com/holdfast-project/holdfast/agent/internal/process"
)

// Exit codes of a program that cannot be started, as a shell has them.
const (
	notExecutable = 126
	notFound      = 127
)

// unkilledRetry is the pause before another attempt to end what survived its kill.
const unkilledRetry = 2 * time.Second

// outOfMemory is the word that container runtimes have for it.
const outOfMemory = "OOMKilled"

// live is the course of one instance.
func (s *Supervisor) live(i *instance) {
	select {
	case r := <-i.start:
		s.run(i, r)
	case e := <-i.end: // at the barrier, where nothing runs
		s.died(i, process.Exit{Code: process.CodeOf(e.signal), At: time.Now()})
		e.done <- nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	close(i.gone)
	s.begin()
}

func (s *Supervisor) run(i *instance, r round) {
	s.clearCheckpoint()
	s.beginProgress(i)
	i.kills, _ = s.options.MemoryKills()
	child, err := s.options.Start(s.program(r))
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

// follow waits until an instance is to end, and ends it; false if something of it is left.
func (s *Supervisor) follow(i *instance, child *process.Child) (gone bool) {
	select {
	case e := <-i.end:
		waiting := []chan error{e.done}
		if pod, ends := s.awaitCheckpoint(i, child, e); ends { // its signal and its time are what counts now
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
		if child.Exit().Code != 0 { // what is left of its tree may take seconds, on a device that lets go slowly: its peers need not wait
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

// unkilled: a leader is dead and something of its tree cannot be killed. The death is reported, so that the group restarts;
// this slot keeps it at the barrier until nothing is left, or somebody recreates the pod.
func (s *Supervisor) unkilled(i *instance, err error) {
	s.options.Log.Error("something of the worker survived its kill: no new one starts before it is gone", "instance", i.id, "error", err)
	time.Sleep(unkilledRetry)
}

// died notes how an instance ended. Only the first word counts.
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
