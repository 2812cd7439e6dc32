package supervisor

import (
	"log/slog"
	"syscall"
	"time"

	"github.com/holdfast-project/holdfast/agent/internal/process"
)

// Options say what to supervise.
type Options struct {
	Group   string       // UID of the JobSet
	Program process.Spec // without the variables of a round
	// Start runs the program: Reaper.Start, or process.Start where several supervisors share a process.
	Start func(process.Spec) (*process.Child, error)
	// End ends all of it; process's own if it is nil.
	End func(c *process.Child, first syscall.Signal, grace time.Duration) error
	Log *slog.Logger

	// RoundVariables of the program get the epoch and the round behind their values, so that no two rounds share what they name.
	RoundVariables []string

	After int64 // birth of the last instance that an earlier supervisor of this pod had, Unix microseconds

	// MemoryKills counts what the kernel has killed in this container for want of memory; process.OutOfMemoryKills if it is nil.
	MemoryKills func() (n uint64, ok bool)

	GracePeriod     time.Duration // between TERM and KILL of an ordered worker
	CheckpointFile  string        // exists while the worker writes a checkpoint; empty: no such agreement
	CheckpointGrace time.Duration // how long an order waits for that file to go

	Progress Progress // by which the worker says that it gets on; nil: it does not
}
