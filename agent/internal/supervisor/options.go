package supervisor

import (
	"log/slog"
	"syscall"
	"time"

	"github.com/holdfast-project/holdfast/agent/internal/process"
)

// Options configure a Supervisor.
type Options struct {
	Group   string       // UID of the JobSet
	Program process.Spec // without the variables of a round
	// Start runs the program: Reaper.Start, or process.Start if several supervisors share a process.
	Start func(process.Spec) (*process.Child, error)
	// End ends the process tree. The default is Child.End.
	End func(c *process.Child, first syscall.Signal, grace time.Duration) error
	Log *slog.Logger

	// RoundVariables are variables of the program to whose values the epoch and the round are appended, so that what
	// they name differs in each round.
	RoundVariables []string

	Slots *Slots // nil: the worker runs in the pod's own slot only

	After int64 // Unix microseconds; when the last instance of an earlier supervisor of this pod was born

	// MemoryKills returns how many processes of this container the kernel has killed because memory ran out. The
	// default is process.OutOfMemoryKills.
	MemoryKills func() (n uint64, ok bool)

	GracePeriod     time.Duration // between TERM and KILL when a restart is ordered
	CheckpointFile  string        // exists while the worker writes a checkpoint; empty: the worker does not report checkpoints
	CheckpointGrace time.Duration // how long an ordered restart waits until that file is gone

	Progress Progress // how the worker reports progress; nil: it does not
}
