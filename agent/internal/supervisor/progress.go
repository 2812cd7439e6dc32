package supervisor

import (
	"os"
	"syscall"
	"time"

	"github.com/holdfast-project/holdfast/agent/internal/process"
)

// ProgressFileVariable is the environment variable that names the file through which a worker reports progress.
const ProgressFileVariable = "HOLDFAST_PROGRESS_FILE"

// Progress counts a worker's progress reports. It does not record their times, so that no clocks have to be compared.
type Progress interface {
	// count returns the number of reports since clear. Several reports between two observations may be counted as one.
	count() uint64
	// clear removes what an earlier program has left behind, and resets the count to 0. It is called before each start.
	clear()
	// variable returns the environment variable to set for the program, or "".
	variable() string
}

// fileProgress watches a file that the worker touches. Each change to the file counts as a report.
type fileProgress struct {
	path string
	last stamp
	n    uint64
}

// stamp holds the attributes that change when the file is touched.
type stamp struct {
	inode   uint64
	size    int64
	changed syscall.Timespec
}

// NewProgressFile watches a file, which may not exist yet.
func NewProgressFile(path string) Progress { return &fileProgress{path: path} }

func (f *fileProgress) variable() string { return ProgressFileVariable + "=" + f.path }

func (f *fileProgress) clear() {
	_ = os.Remove(f.path)
	f.last, f.n = stamp{}, 0
}

func (f *fileProgress) count() uint64 {
	var s syscall.Stat_t
	if err := syscall.Stat(f.path, &s); err != nil {
		return f.n
	}
	if now := (stamp{s.Ino, s.Size, s.Mtim}); now != f.last {
		f.last = now
		f.n++
	}
	return f.n
}

// checkpointPoll is how often the file is checked. Writing a checkpoint takes seconds.
const checkpointPoll = 10 * time.Millisecond

// awaitCheckpoint waits while a worker that was asked to stop writes a checkpoint. It returns when the file is gone, when
// the leader exits, after CheckpointGrace, or when the pod is terminating. In the last case it stops waiting for the
// file and returns the ending requested for the pod.
func (s *Supervisor) awaitCheckpoint(i *instance, child *process.Child, e ending) (pod ending, ends bool) {
	if !e.checkpoint || !s.saving() {
		return ending{}, false
	}
	begun := time.Now()
	poll := time.NewTicker(checkpointPoll)
	defer poll.Stop()
	late := time.After(s.options.CheckpointGrace)
	for done := false; s.saving() && !done; {
		select {
		case <-poll.C:
		case <-child.Exited():
			done = true
		case <-late:
			done = true
		case pod = <-i.end:
			done, ends = true, true
		}
	}
	s.options.Log.Info("waited for a checkpoint", "tookMs", time.Since(begun).Milliseconds(), "complete", !s.saving())
	return pod, ends
}

func (s *Supervisor) saving() bool {
	if s.options.CheckpointFile == "" || s.options.CheckpointGrace == 0 {
		return false
	}
	_, err := os.Stat(s.options.CheckpointFile)
	return err == nil
}
