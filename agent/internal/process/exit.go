package process

import (
	"syscall"
	"time"
)

// signalled is added to a signal's number to form an exit code, as shells do.
const signalled = 128

// Exit describes how a leader ended.
type Exit struct {
	Code   int            // the exit code; 128 plus the signal's number if it was killed
	Signal syscall.Signal // that killed it; 0: none
	At     time.Time      // when this process learned of it
}

// CodeOf returns the exit code that stands for a signal.
func CodeOf(s syscall.Signal) int { return signalled + int(s) }
