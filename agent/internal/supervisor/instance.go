package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/holdfast-project/holdfast/agent/internal/process"
	"github.com/holdfast-project/holdfast/agent/internal/startup"
	"github.com/holdfast-project/holdfast/shared/coordination/worker"
)

// instance is one run of the worker, from the barrier to its death. The fields below the line are guarded by the
// Supervisor's lock.
type instance struct {
	id    string
	born  int64         // Unix microseconds; orders the instances of one pod
	start chan round    // buffer of one
	end   chan ending   // received by the instance's own goroutine
	gone  chan struct{} // closed when none of its processes are left

	// ---
	released  bool                 // from the barrier
	stopping  bool                 // was asked to stop
	signal    func(syscall.Signal) // nil while there is no process
	early     []syscall.Signal     // received after the release but before the process was known
	dead      bool
	exit      process.Exit
	reason    string    // a single word that adds information to the exit code
	kills     uint64    // out-of-memory kills in the container before the program started
	startedAt time.Time // of the program; zero if it was not started
	progress  uint64    // progress reports from this instance
}

// round identifies a round and a slot in which an instance runs.
type round struct {
	generation, number int64
	slot               string
	at                 time.Time // time of the release
}

type ending struct {
	signal     syscall.Signal
	grace      time.Duration
	checkpoint bool // wait for a checkpoint first
	done       chan error
}

func newInstance(id string, born int64) *instance {
	return &instance{
		id: id, born: born,
		start: make(chan round, 1), end: make(chan ending), gone: make(chan struct{}),
	}
}

// seen returns the instance as the core observes it. An instance waiting at the barrier counts as alive.
func (i *instance) seen() worker.Process {
	w := worker.Process{ID: i.id, Born: i.born, Running: !i.dead, Progress: i.progress}
	if i.dead {
		w.ExitCode, w.Signal, w.FinishedAt = int64(i.exit.Code), int64(i.exit.Signal), i.exit.At.UnixMilli()
		w.Reason = i.reason
	}
	return w
}

// pass forwards a signal to the process. At the barrier there is no process to receive it. The caller must hold the
// lock.
func (i *instance) pass(s syscall.Signal) {
	switch {
	case i.signal != nil:
		i.signal(s)
	case i.released && !i.dead:
		i.early = append(i.early, s)
	}
}

// runs records that the process exists, and sends it the signals that arrived early. The caller must hold the lock.
func (i *instance) runs(signal func(syscall.Signal)) {
	i.signal = signal
	for _, s := range i.early {
		signal(s)
	}
}

// isGone reports whether none of the instance's processes are left.
func (i *instance) isGone() bool {
	select {
	case <-i.gone:
		return true
	default:
		return false
	}
}

// finish asks an instance to end, and waits until it has ended.
func (i *instance) finish(ctx context.Context, e ending) error {
	e.done = make(chan error, 1)
	select {
	case i.end <- e:
	case <-i.gone:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-e.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// CheckpointVariable names the file that a worker creates while it writes a checkpoint.
const CheckpointVariable = "HOLDFAST_CHECKPOINT_FILE"

// inRound returns the program with the environment variables for a round.
func (s *Supervisor) inRound(p process.Spec, r round) process.Spec {
	added := strings.Fields(string(startup.Env(s.options.JobSetUID, r.generation, r.number)))
	if s.options.CheckpointFile != "" {
		added = append(added, CheckpointVariable+"="+s.options.CheckpointFile)
	}
	if p := s.options.Source; p != nil && p.variable() != "" {
		added = append(added, p.variable())
	}
	p.Env = overlay(p.Env, append(added, s.named(p.Env, r)...))
	return p
}

// named returns the program's variables that are listed in RoundVariables, with the generation and the restart count
// appended to their values.
func (s *Supervisor) named(env []string, r round) []string {
	var list []string
	for _, v := range env {
		if slices.Contains(s.options.RoundVariables, nameOf(v)) {
			list = append(list, fmt.Sprintf("%s-%d-%d", v, r.generation, r.number))
		}
	}
	return list
}

// overlay adds variables to env and removes existing ones with the same names, because programs differ in which one
// they use if a variable is set twice.
func overlay(env, added []string) []string {
	names := map[string]bool{}
	for _, v := range added {
		names[nameOf(v)] = true
	}
	kept := slices.DeleteFunc(slices.Clone(env), func(v string) bool { return names[nameOf(v)] })
	return append(kept, added...)
}

func nameOf(variable string) string {
	name, _, _ := strings.Cut(variable, "=")
	return name
}

// unkilledRetry is the pause before the next attempt to end a tree that survived SIGKILL.
const unkilledRetry = 2 * time.Second

// outOfMemory is the reason that container runtimes report when a container has run out of memory.
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

// endIdle ends an instance whose program has not been started.
func (s *Supervisor) endIdle(i *instance, e ending) {
	s.died(i, process.Exit{Code: process.CodeOf(e.signal), At: time.Now()})
	e.done <- nil
}

func (s *Supervisor) run(i *instance, r round) {
	program, order := s.placed(i, r)
	if order == nil {
		order = s.awaitReady(i)
	}
	if order != nil {
		s.endIdle(i, *order)
		return
	}
	if s.options.CheckpointFile != "" {
		_ = os.Remove(s.options.CheckpointFile) // left behind by a killed worker
	}
	if p := s.options.Source; p != nil {
		s.mu.Lock()
		p.clear()
		s.mu.Unlock()
	}
	i.kills, _ = s.options.MemoryKills()
	child, err := s.options.Start(s.inRound(program, r))
	if err != nil {
		s.options.Log.Error("the worker cannot be started", "instance", i.id, "error", err)
		s.died(i, process.Exit{Code: StartCode(err), At: time.Now()})
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

// awaitReady waits until a program can be started. It returns the requested ending if the instance is asked to stop
// first.
func (s *Supervisor) awaitReady(i *instance) *ending {
	if s.options.Await == nil {
		return nil
	}
	_, order := unlessEnded(i, func(ctx context.Context) struct{} {
		s.options.Await(ctx)
		return struct{}{}
	})
	return order
}

// unlessEnded returns the result of ask, or the requested ending if the instance is asked to stop first.
func unlessEnded[T any](i *instance, ask func(context.Context) T) (result T, order *ending) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	answer := make(chan T, 1)
	go func() { answer <- ask(ctx) }()
	select {
	case result = <-answer:
		return result, nil
	case e := <-i.end:
		return result, &e
	}
}

// StartCode returns the exit code that a shell uses for a program that cannot be started.
func StartCode(err error) int {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, exec.ErrNotFound) {
		return 127
	}
	return 126
}

// follow waits until an instance exits or is asked to stop, and ends it. It returns false if some of its processes are
// left.
func (s *Supervisor) follow(i *instance, child *process.Child) (gone bool) {
	select {
	case e := <-i.end:
		waiting := []chan error{e.done}
		if pod, ends := s.awaitCheckpoint(i, child, e); ends { // now the pod's signal and grace period apply
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
		if child.Exit().Code != 0 { // peers do not wait for the rest of its tree, which may take seconds if a device is slow to close
			s.died(i, child.Exit())
		}
		err := s.options.End(child, syscall.SIGKILL, 0)
		s.died(i, child.Exit())
		if err != nil { // the group restarts, and this slot holds it at the barrier until the processes are gone or the pod is recreated
			s.options.Log.Error("worker processes survived SIGKILL, not starting a new worker until they exit", "instance", i.id, "error", err)
			time.Sleep(unkilledRetry)
		}
		return err == nil
	}
}

// died records how an instance ended. Only the first call has an effect.
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
