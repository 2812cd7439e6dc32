// Package process starts programs that outlive the process that starts them. It can find them again later and never
// mistakes another program for one of them.
package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// ErrGone means that the process has ended. Its PID may have been reused.
var ErrGone = errors.New("process is gone")

// ID permanently identifies one process: the kernel may reuse the PID, but not with the same start time.
type ID struct {
	PID int `json:"pid"`
	// Start is the start time in clock ticks since boot, field 22 of /proc/PID/stat.
	Start uint64 `json:"start"`
}

// Lookup returns the ID of the live process that currently has the PID. A zombie is treated as gone, because it is
// only waiting to be reaped.
func Lookup(pid int) (ID, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ID{}, ErrGone
	}
	state, start, err := parseStat(raw)
	if err != nil {
		return ID{}, fmt.Errorf("reading the start time of process %d: %w", pid, err)
	}
	if state == 'Z' || state == 'X' {
		return ID{}, ErrGone
	}
	return ID{PID: pid, Start: start}, nil
}

// parseStat parses the fields after the command name, which is in parentheses and may itself contain parentheses and
// spaces.
func parseStat(raw []byte) (state byte, start uint64, err error) {
	end := bytes.LastIndexByte(raw, ')')
	if end < 0 {
		return 0, 0, errors.New("no command name")
	}
	fields := bytes.Fields(raw[end+1:])
	const startField = 22 - 3 // the first field after the name is number 3
	if len(fields) <= startField {
		return 0, 0, errors.New("too few fields")
	}
	start, err = strconv.ParseUint(string(fields[startField]), 10, 64)
	return fields[0][0], start, err
}

// Alive reports whether the process with this ID is still running.
func (id ID) Alive() bool {
	if id.PID <= 0 {
		return false
	}
	now, err := Lookup(id.PID)
	return err == nil && now == id
}

// Signal sends a signal to the process with this ID. It compares the start time after opening the pidfd, so that a
// process that reuses the PID is never signaled.
func (id ID) Signal(signal unix.Signal) error {
	if id.PID <= 0 {
		return ErrGone
	}
	fd, err := unix.PidfdOpen(id.PID, 0)
	if err != nil {
		return ErrGone
	}
	defer unix.Close(fd)
	if !id.Alive() {
		return ErrGone
	}
	if err := unix.PidfdSendSignal(fd, signal, nil, 0); err != nil {
		if errors.Is(err, unix.ESRCH) {
			return ErrGone
		}
		return fmt.Errorf("signalling process %d: %w", id.PID, err)
	}
	return nil
}

// Wait returns once the process has ended.
func (id ID) Wait(ctx context.Context) error {
	for id.Alive() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for process %d to end: %w", id.PID, ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil
}

// Stop sends SIGTERM to the process, and kills it after the grace period.
func (id ID) Stop(ctx context.Context, grace time.Duration) error {
	if err := id.Signal(unix.SIGTERM); errors.Is(err, ErrGone) {
		return nil
	} else if err != nil {
		return err
	}
	polite, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	if id.Wait(polite) == nil {
		return nil
	}
	return id.Kill(ctx)
}

// Kill kills the process and waits until it is gone.
func (id ID) Kill(ctx context.Context) error {
	if err := id.Signal(unix.SIGKILL); err != nil && !errors.Is(err, ErrGone) {
		return err
	}
	return id.Wait(ctx)
}
