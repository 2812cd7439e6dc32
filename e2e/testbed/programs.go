package testbed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"time"

	"github.com/holdfast-project/holdfast/e2e/testbed/process"
)

// programGrace is how long a program may take to exit.
const programGrace = 15 * time.Second

// Program runs alongside the cluster on this host, such as a controller under test. Down stops it together with everything
// else.
type Program struct {
	// Name is unique among programs and components.
	Name    string
	Command []string
	// Inputs holds the contents that the program reads on startup, such as its configuration. A change requires a restart.
	Inputs []string
	// Ready returns an error until the program is ready.
	Ready func(context.Context) error
}

// StartProgram runs the program and waits until it is ready. If the program is already running with the same command,
// inputs and binary, it is not restarted.
func (c *Cluster) StartProgram(ctx context.Context, p Program) error {
	binary, err := digest(p.Command[0])
	if err != nil {
		return err
	}
	return c.exclusively(func() error {
		u := c.up()
		return u.startAll(ctx, component{
			ready: p.Ready,
			spec: u.spec(process.Spec{
				Name: p.Name, Command: p.Command, Inputs: append([]string{binary}, p.Inputs...), Dir: u.layout.state(p.Name),
			}),
		})
	})
}

// StopProgram stops the program. It is not an error if the program is not running. Afterwards the program is no longer
// part of the status.
func (c *Cluster) StopProgram(ctx context.Context, name string) error {
	return c.exclusively(func() error { return c.up().stopComponent(ctx, name, programGrace) })
}

// KillProgram kills the program without giving it a chance to clean up. The status shows it as dead.
func (c *Cluster) KillProgram(ctx context.Context, name string) error {
	return c.table().Get(name).ID.Kill(ctx)
}

// ProgramPID returns the PID of a running program.
func (c *Cluster) ProgramPID(name string) (int, error) {
	id := c.table().Get(name).ID
	if !id.Alive() {
		return 0, fmt.Errorf("%s: %w", name, process.ErrGone)
	}
	return id.PID, nil
}

// ProgramLog returns the file with a program's output.
func (c *Cluster) ProgramLog(name string) string { return c.up().spec(process.Spec{Name: name}).Log }

func digest(file string) (string, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("reading a program: %w", err)
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:]), nil
}
