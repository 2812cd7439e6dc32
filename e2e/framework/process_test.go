package framework

import (
	"os"
	"os/signal"
	"testing"

	"golang.org/x/sys/unix"
)

// If the Go runtime began to handle SIGTTIN by itself, tests would send signals that workers ignore.
func TestAProcessListensOnceItHasAskedForItsSignals(t *testing.T) {
	if isListening(os.Getpid()) == nil {
		t.Error("this process handles its signals although it has not requested them")
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGUSR1, unix.SIGTTIN)
	defer signal.Stop(signals)
	if err := isListening(os.Getpid()); err != nil {
		t.Error(err)
	}
}
