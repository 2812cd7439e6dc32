package supervisor

import (
	"context"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
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

// farewell is what is kept of the pod's grace period for the kill and the report.
const farewell = 2 * time.Second

// checkpointName is the file by which a worker says that it is writing a checkpoint, on the start-up volume.
const checkpointName = "checkpoint"

// Names of what a worker says with that it gets on, on the same volume.
const (
	progressFile   = "progress"
	progressSocket = "progress.sock"
)

// Parts are what a supervisor works with.
type Parts struct {
	Program process.Spec
	Start   func(process.Spec) (*process.Child, error)
	Store   rounds.Members
	Signals <-chan os.Signal // to this process
	Output  [2]io.Writer     // of the worker, if it is read; nil: this process's
	// MemoryKills is described with Options.
	MemoryKills func() (n uint64, ok bool)
	Log         *slog.Logger
}

// Run supervises the worker until the group releases it, then the code is 0, or until a signal ends the pod, then the code
// is that of the signal, whatever the worker said: it has not finished. It returns an error if nobody leads the group any more, see awaitAlone.
func Run(c config.Exec, p Parts) (code int, err error) {
	store := newContact(p.Store)
	p.Store = store
	r, err := newRun(c, p)
	if err != nil {
		return code, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	defer r.finish()
	released := make(chan error, 1)
	go func() { released <- r.speak(ctx) }()
	alone := make(chan error, 1)
	if limit := c.AloneLimit; limit > 0 {
		go func() { alone <- r.awaitAlone(ctx, store, limit) }()
	}
	left := make(chan struct{})
	for {
		select {
		case err := <-released:
			return code, err
		case err := <-alone:
			cancel()
			<-released
			if r.supervisor.finished() {
				err = nil
			}
			return code, err
		case <-left:
			cancel() // what is to be reported still is
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
	Parts
	config     config.Exec
	memory     worker.Memory
	supervisor *Supervisor
	output     *outputProgress // nil: it is not read
	leaving    chan struct{}
}

func newRun(c config.Exec, p Parts) (*run, error) {
	r := &run{Parts: p, config: c, memory: worker.Fresh(), leaving: make(chan struct{})}
	o := Options{
		Group: c.JobSetUID, Program: p.Program, Start: p.Start, Log: p.Log,
		RoundVariables: c.RoundVariables,
		GracePeriod:    c.GracePeriod, CheckpointGrace: c.CheckpointGrace, MemoryKills: p.MemoryKills,
	}
	if c.StartupDir != "" {
		r.load()
		o.After = r.memory.Instance.Born
		if c.CheckpointGrace > 0 {
			o.CheckpointFile = filepath.Join(c.StartupDir, checkpointName)
		}
	}
	if err := r.lookForProgress(&o); err != nil {
		return nil, err
	}
	r.supervisor = New(o)
	return r, nil
}

// lookForProgress sets up what the worker was asked for, if it was.
func (r *run) lookForProgress(o *Options) (err error) {
	switch c := r.config; {
	case c.Progress.Timeout == 0:
	case c.ProgressFrom == config.FromOutput:
		r.output = newOutputProgress([2]io.Writer{orElse(r.Output[0], os.Stdout), orElse(r.Output[1], os.Stderr)})
		o.Progress, o.Start = r.output, r.output.through(o.Start)
	case c.ProgressFrom == config.FromSocket:
		o.Progress, err = ListenForProgress(filepath.Join(c.StartupDir, progressSocket))
	default:
		o.Progress = NewProgressFile(filepath.Join(c.StartupDir, progressFile))
	}
	return err
}

func orElse(w, otherwise io.Writer) io.Writer {
	if w == nil {
		return otherwise
	}
	return w
}

// finish runs last, when nothing writes any more.
func (r *run) finish() {
	if r.output != nil {
		r.output.finish(lastWords)
	}
}

// load reads what an earlier supervisor of this pod knew, whose container died.
func (r *run) load() {
	var err error
	if r.memory, err = startup.Load(r.config.StartupDir, r.config.PodUID); err != nil {
		r.Log.Warn("the start-up file is of no use: going on as in a new pod", "error", err)
	}
}

// speak speaks for the worker until it is released or ctx ends.
func (r *run) speak(ctx context.Context) error {
	state := worker.New(worker.Config{
		Slot: rounds.Slot{Name: r.config.WorkerID, Pod: r.config.PodUID}, Generation: r.config.PodEpoch, Grace: r.config.GracePeriod + r.config.CheckpointGrace,
		Barrier: true, MaxStops: r.config.MaxStops, Random: rand.Float64, PodName: r.config.Place.PodName, Node: r.config.Place.Node, Progress: r.config.Progress,
	}, r.memory)
	settings := loop.Config{Group: r.config.JobSetUID, Slot: r.config.WorkerID, Pod: r.config.PodUID, StartupDir: r.config.StartupDir, Leaving: r.leaving}
	return loop.Run(ctx, settings, loop.Parts{
		Driver: r.supervisor, Barrier: r.supervisor, Watcher: r.supervisor, Gate: noGate{}, Store: r.Store, Log: r.Log,
	}, state)
}

// pass hands a signal on to the worker; false for the one that begins the pod's end.
func (r *run) pass(s syscall.Signal, leaving bool) bool {
	switch {
	case s == syscall.SIGPIPE: // the log has no reader
		return true
	case (s == syscall.SIGTERM || s == syscall.SIGINT) && !leaving:
		return false
	}
	r.supervisor.Signal(s)
	return true
}

// leave ends the worker in the time that the pod has.
func (r *run) leave(s syscall.Signal, left chan struct{}) {
	defer close(left)
	grace := max(r.config.PodGrace-farewell, r.config.PodGrace/2)
	r.Log.Info("ending the worker with its pod", "signal", s.String(), "grace", grace.String())
	if err := r.supervisor.Leave(context.Background(), s, grace); err != nil {
		r.Log.Error("something of the worker is left", "error", err)
	}
}

// noGate: nothing waits for a supervisor to be ready.
type noGate struct{}

func (noGate) Wait(string) {}
func (noGate) Open()       {}
