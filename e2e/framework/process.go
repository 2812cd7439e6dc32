package framework

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// supervisor is the name of the process that runs the worker's program as its child (exec driver).
const supervisor = "holdfast-exec"

var errNoProgram = errors.New("its supervisor has not started it")

// program returns the PID of a worker's program, or errNoProgram if its supervisor has not started it.
func (env *Environment) program(ctx context.Context, w Worker) (int, error) {
	first, err := env.Cluster.ContainerPID(ctx, w.PodUID, w.Container)
	if err != nil {
		return 0, err
	}
	return program(first)
}

// awaitProgram returns the PID of a worker's program. It waits if the supervisor is about to start the worker.
func (env *Environment) awaitProgram(ctx context.Context, w Worker) (pid int, err error) {
	var failure error
	err = Until(ctx, "worker "+w.ID+" has a program", func(ctx context.Context) error {
		if pid, failure = env.program(ctx, w); errors.Is(failure, errNoProgram) {
			return failure
		}
		return nil
	})
	if err = errors.Join(err, failure); err != nil {
		return 0, fmt.Errorf("looking for the program of worker %s: %w", w.ID, err)
	}
	return pid, nil
}

// Variable returns an environment variable of a worker's program, or "". It waits if the supervisor is about to start the worker.
func (env *Environment) Variable(ctx context.Context, w Worker, name string) (string, error) {
	pid, err := env.awaitProgram(ctx, w)
	if err != nil {
		return "", err
	}
	environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	for variable := range strings.SplitSeq(string(environment), "\x00") {
		if value, found := strings.CutPrefix(variable, name+"="); found {
			return value, err
		}
	}
	return "", err
}

// Program returns an identifier of a worker's process that is never reused: its PID and start time.
func (env *Environment) Program(ctx context.Context, w Worker) (string, error) {
	pid, err := env.program(ctx, w)
	if err != nil {
		return "", err
	}
	fields, err := statusOf(pid)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d@%s", pid, fields[startField]), nil
}

// Finish makes a worker that runs the image "worker" succeed. It returns an error if the worker has no program, or one
// that does not handle the signal yet.
func (env *Environment) Finish(ctx context.Context, w Worker) error {
	pid, err := env.program(ctx, w)
	if err != nil {
		return err
	}
	if err := isListening(pid); err != nil {
		return fmt.Errorf("worker %s: %w", w.ID, err)
	}
	_, err = kill(pid, unix.SIGUSR2, "worker "+w.ID)
	return err
}

// isListening returns an error until the program from the image "worker" handles its signals. The Go runtime has handlers for nearly
// all signals from the start. SIGTTIN is one of the few for which it installs a handler only when the program asks for it, which the
// worker does last.
func isListening(pid int) error {
	caught, err := handles(pid, unix.SIGTTIN)
	if err == nil && !caught {
		err = fmt.Errorf("process %d does not handle its signals yet", pid)
	}
	return err
}

// handles reports whether a process has a handler for a signal.
func handles(pid int, signal unix.Signal) (bool, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return false, err
	}
	for line := range strings.Lines(string(status)) {
		if mask, found := strings.CutPrefix(line, "SigCgt:"); found {
			bits, err := strconv.ParseUint(strings.TrimSpace(mask), 16, 64)
			return bits>>(signal-1)&1 == 1, err
		}
	}
	return false, fmt.Errorf("process %d has no SigCgt", pid)
}

// FirstProcess returns the name of the first process of a worker's container: a supervisor, or the worker itself.
func (env *Environment) FirstProcess(ctx context.Context, w Worker) (string, error) {
	first, err := env.Cluster.ContainerPID(ctx, w.PodUID, w.Container)
	if err != nil {
		return "", err
	}
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", first))
	return strings.TrimSpace(string(name)), err
}

// program returns the PID of the worker's program: the first process of the container, or the child of its supervisor.
func program(first int) (int, error) {
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", first))
	if err != nil {
		return 0, err
	}
	if strings.TrimSpace(string(name)) != supervisor {
		return first, nil
	}
	return childOf(first)
}

// childOf scans all processes, because not every kernel can list the children of a process.
func childOf(parent int) (int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err == nil && parentOf(pid) == parent {
			return pid, nil
		}
	}
	return 0, errNoProgram
}

// Fields of /proc/PID/stat after the program's name.
const (
	parentField = 1
	startField  = 19
)

func parentOf(pid int) int {
	fields, err := statusOf(pid)
	if err != nil {
		return 0
	}
	parent, _ := strconv.Atoi(fields[parentField])
	return parent
}

// statusOf returns the fields of /proc/PID/stat after the program's name, which is in parentheses and may contain any
// characters.
func statusOf(pid int) ([]string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, err
	}
	text := string(stat)
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) <= startField {
		return nil, fmt.Errorf("the status of process %d has %d fields", pid, len(fields))
	}
	return fields, nil
}
