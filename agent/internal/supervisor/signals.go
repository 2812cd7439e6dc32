package supervisor

import (
	"os"
	"os/signal"
	"syscall"
)

const (
	firstRealtime = 34 // 32 and 33 are reserved by the C library
	lastRealtime  = 64
)

// Signals starts to receive the signals that a supervisor handles. SIGPIPE is among them, so that a log without a
// reader does not end the supervisor. It is not ignored, because child processes would inherit that.
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
