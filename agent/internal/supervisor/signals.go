package supervisor

import (
	"os"
	"os/signal"
	"syscall"
)

const (
	firstRealtime = 34 // 32 and 33 are the C library's
	lastRealtime  = 64
)

// Signals takes the signals that a supervisor answers from now on. SIGPIPE is among them so that a log that nobody reads
// does not end the supervisor; it is not ignored, because its children would inherit that.
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
