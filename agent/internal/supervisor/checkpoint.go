package supervisor

import (
	"os"
	"time"

	"github.com/holdfast-project/holdfast/agent/internal/process"
)

// checkpointPoll is how often the file is checked. Saving takes seconds.
const checkpointPoll = 10 * time.Millisecond

// awaitCheckpoint waits while a worker that is ordered to end writes a checkpoint. It returns when the file is gone,
// when the leader exits, after CheckpointGrace, or when the pod ends. The pod's end does not wait for the file, and is
// returned.
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

// clearCheckpoint removes the file that a killed worker has left behind.
func (s *Supervisor) clearCheckpoint() {
	if s.options.CheckpointFile != "" {
		_ = os.Remove(s.options.CheckpointFile)
	}
}
