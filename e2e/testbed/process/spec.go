package process

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/holdfast-project/holdfast/e2e/testbed/cgroup"
)

// Spec describes how to run a program.
type Spec struct {
	// Name is unique within a testbed. The record and the log are named after it.
	Name string
	// Command is the program's path and its arguments.
	Command []string
	// Inputs holds the contents that the program reads on startup: configuration files and the build stamp. A change
	// requires a restart.
	Inputs []string
	// Dir is the working directory.
	Dir string
	// Log is the file for the program's output.
	Log string
	// Group is the cgroup of the program and its children. The default is the caller's cgroup.
	Group cgroup.Group
}

// Fingerprint returns a value that differs between specs that would run differently.
func (s Spec) Fingerprint() string {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err) // marshaling strings never fails
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8])
}

// start runs the program in its own session, so that the program does not end when the caller exits or a key is pressed
// in the caller's terminal.
func (s Spec) start() (ID, error) {
	log, err := os.OpenFile(s.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return ID{}, fmt.Errorf("opening the log of %s: %w", s.Name, err)
	}
	defer log.Close()
	command := append(s.entering(), s.Command...)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.Dir, log, log
	// The caller's environment is not used. A proxy setting, for example, would change the behavior of the cluster.
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + s.Dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := keepDescriptors(); err != nil {
		return ID{}, err
	}
	if err := cmd.Start(); err != nil {
		return ID{}, fmt.Errorf("starting %s: %w", s.Name, err)
	}
	id, err := Lookup(cmd.Process.Pid)
	// A long-running caller must reap the child.
	go cmd.Wait()
	if err != nil {
		return ID{}, fmt.Errorf("%s exited immediately, see %s: %w", s.Name, s.Log, err)
	}
	return id, nil
}

// enter is a shell script that joins a group and then becomes the program, which has the same PID. If the group has
// been removed by a cleanup, nothing is run.
const enter = `echo 0 >"$1"; shift; exec "$@"`

// entering returns the prefix of the command. The program joins the group before it can have children, so that none is
// missed. (The kernel could start it in the group, but Linux 6.18 kills the child if the group was ever emptied with
// cgroup.kill.)
func (s Spec) entering() []string {
	if s.Group == "" {
		return nil
	}
	var command []string
	for _, entrance := range s.Group.Entrances() {
		command = append(command, "/bin/sh", "-ec", enter, "sh", entrance)
	}
	return command
}
