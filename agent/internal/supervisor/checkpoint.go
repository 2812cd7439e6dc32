package supervisor

import (
	"os"
	"time"

	"github.com/holdfast-project/holdfast/agent/internal/process"
)

// checkpointPoll is how often the file is checked: saving takes seconds.
const checkpointPoll = 10 * time.Millisecond

// awaitCheckpoint lets a worker that is ordered to end finish the checkpoint that it says it is writing. It ends when the file is gone,
// with the leader, when the worker has had its time, or when the pod ends, which waits for no file and is returned.
func (s *Supervisor) awaitCheckpoint(i *instance, child *process.Child, e ending) (pod ending, ends bool) {
	if !e.checkpoint || !s.saving() {
		return ending{}, false
	}
	begun := time.Now()
	poll := time.NewTicker(checkpointPoll)
	defer poll.Stop()
	late := time.NewTimer(s.options.CheckpointGrace)
	defer late.Stop()
	for done := false; s.saving() && !done; {
		select {
		case <-poll.C:
		case <-child.Exited():
			done = true
		case <-late.C:
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

// clearCheckpoint removes the file that a killed worker has left.
func (s *Supervisor) clearCheckpoint() {
	if s.options.CheckpointFile != "" {
		_ = os.Remove(s.options.CheckpointFile)
	}
}
