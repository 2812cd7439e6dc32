package supervisor

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/holdfast-project/holdfast/agent/internal/config"
	"github.com/holdfast-project/holdfast/agent/internal/loop"
	"github.com/holdfast-project/holdfast/agent/internal/process"
	"github.com/holdfast-project/holdfast/agent/internal/startup"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/coordination/worker"
)

// killReserve is the part of the pod's grace period that is reserved for killing the worker and reporting its death.
const killReserve = 2 * time.Second

// checkpointName is the file on the startup volume that exists while the worker writes a checkpoint.
const checkpointName = "checkpoint"

// progressFile is the file on the startup volume through which a worker reports progress.
const progressFile = "progress"

// Parts holds a supervisor's dependencies.
type Parts struct {
	Program process.Spec // without the variables for a round
	// Start runs the program: Reaper.Start, or process.Start if several supervisors share a process.
	Start func(process.Spec) (*process.Child, error)
	// Await waits until a program can be started; nil if that is always possible.
	Await func(context.Context)
	// End ends the process tree. The default is Child.End.
	End     func(c *process.Child, first syscall.Signal, grace time.Duration) error
	Store   rounds.Members
	Signals <-chan os.Signal // received by this process
	Output  [2]io.Writer     // destination of the worker's output, if it is read; nil: this process's output
	// MemoryKills returns the number of out-of-memory kills in this container. The default is process.OutOfMemoryKills.
	MemoryKills func() (n uint64, ok bool)
	// Hosts returns the host names of the pods that currently occupy the given slots of a group. It omits slots whose pod
	// has the same name as the slot.
	Hosts func(ctx context.Context, group string, slots []string) (map[string]string, error)
	Log   *slog.Logger
}

// Run supervises the worker. It returns 0 when the group releases the worker. When a signal ends the pod, it returns
// the exit code for that signal regardless of the worker's exit code, because the worker has not completed. It returns
// an error if the group no longer has a leader; see awaitAlone.
func Run(c config.Exec, p Parts) (code int, err error) {
	r := newRun(c, p)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if r.output != nil {
		defer r.output.finish(drainTimeout) // by then no process is writing output anymore
	}
	released := make(chan error, 1)
	go func() { released <- r.runLoop(ctx) }()
	alone := make(chan error, 1)
	if limit := c.AloneLimit; limit > 0 {
		go func() { alone <- r.awaitAlone(ctx, limit) }()
	}
	left := make(chan struct{})
	for {
		select {
		case err := <-released:
			return code, err
		case err := <-alone:
			cancel()
			<-released
			if r.finished() {
				err = nil
			}
			return code, err
		case <-left:
			cancel() // pending reports are still sent
			left = nil
		case s := <-p.Signals:
			if passed := r.pass(s.(syscall.Signal), code != 0); passed {
				continue
			}
			code = process.CodeOf(s.(syscall.Signal))
			close(r.leaving)
			go r.leave(s.(syscall.Signal), left)
		}
	}
}

type run struct {
	*Supervisor
	memory  worker.Memory
	contact loop.Contact
	output  *outputProgress // nil: output is not read
	leaving chan struct{}
}

func newRun(c config.Exec, p Parts) *run {
	r := &run{memory: worker.Fresh(), leaving: make(chan struct{})}
	o := Options{Exec: c, Parts: p}
	if c.StartupDir != "" {
		var err error
		if r.memory, err = startup.Load(c.StartupDir, c.PodUID); err != nil { // saved by an earlier supervisor, whose container has exited
			p.Log.Warn("startup file invalid, starting as a new pod", "error", err)
		}
		o.After = r.memory.Instance.Born
		if c.CheckpointGrace > 0 {
			o.CheckpointFile = filepath.Join(c.StartupDir, checkpointName)
		}
	}
	switch {
	case c.Progress.Timeout == 0:
	case c.ProgressFrom == config.FromOutput:
		r.output = newOutputProgress([2]io.Writer{cmp.Or[io.Writer](p.Output[0], os.Stdout), cmp.Or[io.Writer](p.Output[1], os.Stderr)})
		o.Source, o.Start = r.output, r.output.through(o.Start)
	default:
		o.Source = NewProgressFile(filepath.Join(c.StartupDir, progressFile))
	}
	r.Supervisor = New(o)
	return r
}

// runLoop runs the group protocol for the worker until the worker is released or ctx is done.
func (r *run) runLoop(ctx context.Context) error {
	c := r.options.Exec
	settings := loop.Config{Identity: c.Identity, StartupDir: c.StartupDir, Leaving: r.leaving, Contact: &r.contact}
	parts := loop.Parts{Driver: r, Barrier: r, Watcher: r, Report: func(string) {}, Store: r.options.Parts.Store, Log: r.options.Log}
	return loop.Run(ctx, settings, parts, worker.Config{
		Waits: c.Waits, Grace: c.GracePeriod + c.CheckpointGrace, Barrier: true, MaxStops: c.MaxStops, Progress: c.Progress,
	}, r.memory)
}

// pass forwards a signal to the worker. It returns false for the signal that starts the pod's termination.
func (r *run) pass(s syscall.Signal, leaving bool) bool {
	switch {
	case s == syscall.SIGPIPE: // the log has no reader
		return true
	case (s == syscall.SIGTERM || s == syscall.SIGINT) && !leaving:
		return false
	}
	r.Signal(s)
	return true
}

// leave ends the worker within the pod's grace period.
func (r *run) leave(s syscall.Signal, left chan struct{}) {
	defer close(left)
	grace := max(r.options.PodGrace-killReserve, r.options.PodGrace/2)
	r.options.Log.Info("pod is terminating, stopping the worker", "signal", s.String(), "grace", grace.String())
	if err := r.Leave(context.Background(), s, grace); err != nil {
		r.options.Log.Error("worker processes are still running", "error", err)
	}
}

const (
	firstRealtime = 34 // 32 and 33 are reserved by the C library
	lastRealtime  = 64
)

// Signals starts receiving the signals that a supervisor handles. They include SIGPIPE, so that a log without a reader
// does not end the supervisor. SIGPIPE is not ignored, because child processes would inherit that.
func Signals() <-chan os.Signal {
	taken := []os.Signal{
		syscall.SIGTERM, syscall.SIGINT,
		syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH, syscall.SIGALRM, syscall.SIGCONT,
		syscall.SIGTSTP, syscall.SIGPIPE,
	}
	for n := firstRealtime; n <= lastRealtime; n++ {
		taken = append(taken, syscall.Signal(n))
	}
	c := make(chan os.Signal, 16)
	signal.Notify(c, taken...)
	return c
}
