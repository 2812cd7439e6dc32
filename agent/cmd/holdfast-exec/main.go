// Command holdfast-exec is the entry point of a worker's container. It runs the worker as its child process and
// restarts it together with its group.
//
// Build it with CGO_ENABLED=0, because it must run in any image.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/holdfast-project/holdfast/agent/internal/config"
	"github.com/holdfast-project/holdfast/agent/internal/journal"
	"github.com/holdfast-project/holdfast/agent/internal/process"
	"github.com/holdfast-project/holdfast/agent/internal/startup"
	"github.com/holdfast-project/holdfast/agent/internal/store"
	"github.com/holdfast-project/holdfast/agent/internal/supervisor"
)

// Exit codes.
const (
	done      = 0
	failed    = 1
	misplaced = 2 // invalid settings: restarting does not help
)

// preloadVariable is the environment variable that lists the Python modules that a template process imports. If it is
// set, each start of the worker is a fork of the template.
const preloadVariable = "HOLDFAST_PRELOAD"

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	if len(args) == 2 && args[0] == "install" {
		return end(failed, install(args[1]))
	}
	c, err := config.ParseExec(args, os.Getenv)
	if err != nil {
		return end(misplaced, err)
	}
	program, code, err := find(c.Command)
	if err != nil {
		return end(code, err)
	}
	code, err = supervise(c, program)
	switch {
	case errors.Is(err, process.ErrNotPython):
		return end(misplaced, err)
	case err != nil:
		return end(failed, err)
	}
	return code
}

// install copies this program into a folder of a volume, from which a container can run it even if its image does not
// include it. It runs in an init container. It replaces an existing copy atomically, even while that copy is running.
func install(dir string) error {
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("installing holdfast-exec: %w", err)
	}
	defer self.Close()
	return startup.Replace(dir, "holdfast-exec", 0o755, self) // the worker may run as any user
}

// find resolves the path of the worker's program, so that an invalid command fails before the supervisor joins the
// group.
func find(command []string) (p process.Spec, code int, err error) {
	path, err := exec.LookPath(command[0])
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return p, supervisor.StartCode(err), fmt.Errorf("finding the worker's program: %w", err)
	}
	return process.Spec{Path: path, Args: command, Env: os.Environ()}, done, nil
}

func supervise(c config.Exec, program process.Spec) (code int, err error) {
	signals := supervisor.Signals()
	reaper, err := process.Adopt()
	if err != nil {
		return failed, err
	}
	output := journal.Detach(os.Stderr)
	defer output.Flush(journal.LastLines)
	log := journal.New(output, c.LogLevel).With("slot", c.WorkerID, "pod", c.PodUID)
	groups, err := store.Members(c.Store, "holdfast-exec", log)
	if err != nil {
		return failed, err
	}
	defer groups.Close()
	parts := supervisor.Parts{Program: program, Start: reaper.Start, Store: groups, Hosts: groups.Hosts, Signals: signals, Log: log}
	if modules := os.Getenv(preloadVariable); modules != "" {
		templates, err := process.NewTemplates(reaper, program, modules, log)
		if err != nil {
			return failed, fmt.Errorf("%s: %w", preloadVariable, err)
		}
		parts.Start, parts.Await = templates.Start, templates.Await
	}
	return supervisor.Run(c, parts)
}

func end(code int, err error) int { return journal.End("holdfast-exec", code, err) }
