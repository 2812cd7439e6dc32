// Package supervisor is the exec driver. It runs the worker as a tree of child processes, and restarts that tree
// instead of the container. An instance of the worker starts at a barrier, without a process:
//
//	Prepare         Start                   the leader exits, or Stop
//	-----> WAITING ------> RUNNING process ---------------------------> DEAD
//	          |                                                           ^
//	          +--------------------- Stop --------------------------------+
//
// A leader that fails is reported immediately, because its peers must restart. A leader that exits 0 or is stopped is
// reported once its whole tree is gone. The core then requests the next instance, which starts only when no process of
// the previous one is left, so that programs of two rounds never run at the same time.
package supervisor

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/holdfast-project/holdfast/agent/internal/config"
	"github.com/holdfast-project/holdfast/agent/internal/process"
	"github.com/holdfast-project/holdfast/shared/coordination/worker"
)

// remembered is how many instances can be observed: the newest one, and the previous one, whose death may not have been
// reported yet.
const remembered = 2

// Supervisor implements the interfaces of package loop. It is safe for concurrent use.
type Supervisor struct {
	options Options
	prefix  string        // prefix of the instances' names, unique to this supervisor
	changed chan struct{} // buffer of one

	mu        sync.Mutex
	instances []*instance // the newest is last
	number    int
	born      int64
	wanted    bool // create the next instance once the newest one is gone
	leaving   bool
}

func New(o Options) *Supervisor {
	if o.MemoryKills == nil {
		o.MemoryKills = process.OutOfMemoryKills
	}
	if o.End == nil {
		o.End = (*process.Child).End
	}
	return &Supervisor{options: o, prefix: rand.Text()[:10], changed: make(chan struct{}, 1), born: o.After}
}

// Prepare implements loop.Barrier. The next instance is created at the barrier once the previous one is gone. The core
// calls Prepare again until it has observed the new instance; such calls do not request another one.
func (s *Supervisor) Prepare() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.newest(); i == nil || i.dead {
		s.wanted = true
		s.begin()
	}
}

// begin creates the next instance if one is wanted, the previous one is gone, and the pod is not terminating. The
// caller must hold the lock.
func (s *Supervisor) begin() {
	if i := s.newest(); !s.wanted || s.leaving || (i != nil && !i.isGone()) {
		return
	}
	s.wanted = false
	s.number++
	s.born = max(s.born+1, time.Now().UnixMicro()) // the clock may have been set back
	i := newInstance(fmt.Sprintf("%s-%d", s.prefix, s.number), s.born)
	s.instances = append(s.instances, i)
	s.instances = s.instances[max(0, len(s.instances)-remembered):]
	go s.live(i)
	s.notify()
}

// notify makes the loop observe the worker again. It never blocks, because one pending notification is enough.
func (s *Supervisor) notify() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// Watch implements loop.Watcher.
func (s *Supervisor) Watch(ctx context.Context, wake func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.changed:
			wake()
		}
	}
}

// Observe implements loop.Driver. It never returns an error.
func (s *Supervisor) Observe(context.Context) (worker.Observed, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var o worker.Observed
	for _, i := range s.instances {
		if p := s.options.Source; p != nil && i == s.newest() && !i.startedAt.IsZero() && !i.dead {
			i.progress = p.count()
		}
		o.Processes = append(o.Processes, i.seen())
	}
	return o, nil
}

// Start implements loop.Barrier. It runs the program of an instance in the given round and slot. It ignores an instance
// that is running, was asked to stop, or no longer exists.
func (s *Supervisor) Start(id string, generation, number int64, slot string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.find(id)
	if i == nil || i.released || i.stopping || i.dead {
		return
	}
	i.released = true
	i.start <- round{generation, number, slot, time.Now()}
}

// Stop implements loop.Driver. It uses the supervisor's own grace period, or none if the stop is urgent.
func (s *Supervisor) Stop(ctx context.Context, stop worker.Stop) error {
	s.mu.Lock()
	i := s.find(stop.ID)
	if i != nil {
		i.stopping = true
	}
	s.mu.Unlock()
	if i == nil {
		return nil
	}
	e := ending{signal: syscall.SIGTERM, grace: s.options.GracePeriod, checkpoint: stop.Haste != worker.Hung}
	if stop.Haste != worker.Patient {
		e.signal, e.grace = syscall.SIGKILL, 0
	}
	return i.finish(ctx, e)
}

// Remove implements loop.Driver. The exec driver keeps no records.
func (s *Supervisor) Remove(context.Context, []string) error { return nil }

// Signal forwards a signal to the worker's process group, if the worker is running.
func (s *Supervisor) Signal(signal syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.newest(); i != nil {
		i.pass(signal)
	}
}

// Leave ends the worker when the pod terminates. It sends the signal, waits up to grace, then sends SIGKILL. No further
// instance is created. Exit code 0 is replaced by that of SIGTERM, because a worker that was asked to stop has not
// completed. Leave returns when no process of the worker is left or ctx is done.
func (s *Supervisor) Leave(ctx context.Context, signal syscall.Signal, grace time.Duration) error {
	s.mu.Lock()
	s.leaving = true
	i := s.newest()
	s.mu.Unlock()
	if i == nil {
		return nil
	}
	return i.finish(ctx, ending{signal: signal, grace: grace})
}

func (s *Supervisor) newest() *instance {
	if len(s.instances) == 0 {
		return nil
	}
	return s.instances[len(s.instances)-1]
}

func (s *Supervisor) find(id string) *instance {
	for _, i := range s.instances {
		if i.id == id {
			return i
		}
	}
	return nil
}

// Options configure a Supervisor.
type Options struct {
	config.Exec
	Parts

	After          int64    // Unix microseconds; when an earlier supervisor of this pod created its last instance
	CheckpointFile string   // exists while the worker writes a checkpoint; empty: the worker does not report checkpoints
	Source         Progress // how the worker reports progress; nil if it does not
}
