package process

import (
	"syscall"
	"time"
)

// signalled is what a shell adds to the number of the signal that ended a process.
const signalled = 128

// Exit is how a leader ended.
type Exit struct {
	Code   int            // the exit code; 128 and the signal's number for one that was killed
	Signal syscall.Signal // that killed it; 0: none
	At     time.Time      // when this process knew
}

// CodeOf is the exit code that stands for a signal.
func CodeOf(s syscall.Signal) int { return signalled + int(s) }
