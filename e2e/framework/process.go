package framework

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// supervisor is the name of the process that starts the worker's program in its own container (exec driver).
const supervisor = "holdfast-exec"

var errNoProgram = errors.New("its supervisor has not started it")

// Variable is one of the environment that a worker's program was started with, "" if it has none of the name.
func (env *Environment) Variable(ctx context.Context, w Worker, name string) (string, error) {
	first, err := env.Cluster.ContainerPID(ctx, w.PodUID, workerContainer)
	if err != nil {
		return "", err
	}
	pid, err := program(first)
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

// Program names the process that stands for a worker, so that no other one ever has the name: its number and its start.
func (env *Environment) Program(ctx context.Context, w Worker) (string, error) {
	first, err := env.Cluster.ContainerPID(ctx, w.PodUID, workerContainer)
	if err != nil {
		return "", err
	}
	pid, err := program(first)
	if err != nil {
		return "", err
	}
	fields, err := statusOf(pid)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d@%s", pid, fields[startField]), nil
}

// program is the process of a container that stands for the worker: its first one, or what its supervisor started.
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

// childOf looks at all processes, because not every kernel lists the children of one.
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

// Fields of /proc/PID/stat behind the program's name.
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

// statusOf reads /proc/PID/stat from behind the program's name, which stands in parentheses and may hold anything.
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
