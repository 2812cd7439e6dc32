// Package cputime measures the CPU time of the current process, for benchmarks.
package cputime

import (
	"syscall"
	"time"
)

// Used returns the user and system CPU time that the process has used so far.
func Used() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err) // cannot happen for the current process
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
