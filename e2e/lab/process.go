package lab

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// supervisor is the name of the process that starts the worker's program in its own container (exec driver).
const supervisor = "holdfast-exec"

var errNoProgram = errors.New("its supervisor has not started it")

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

// parentOf reads the fourth field of /proc/PID/stat; the second is a name in parentheses that may hold anything.
func parentOf(pid int) int {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	text := string(stat)
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(fields[1])
	return parent
}
