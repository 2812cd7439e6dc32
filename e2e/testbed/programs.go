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

// programGrace is what a program is given to end.
const programGrace = 15 * time.Second

// Program is something that runs beside the cluster on this host, such as a controller under test. Down ends it with the
// rest.
type Program struct {
	// Name is unique among programs and components.
	Name    string
	Command []string
	// Inputs are contents that the program reads at its start, such as its configuration: another one calls for a restart.
	Inputs []string
	// Ready reports whether it does its work.
	Ready func(context.Context) error
}

// StartProgram runs the program, and waits until it is ready. One that runs already with the same command, inputs
// and binary is left alone.
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

// StopProgram ends the program; it is no error if it does not run. Nobody misses it then: the status does not name it.
func (c *Cluster) StopProgram(ctx context.Context, name string) error {
	return c.exclusively(func() error { return c.up().stopComponent(ctx, name, programGrace) })
}

// KillProgram ends the program at once, without a chance to clean up. To the status it is a program that died.
func (c *Cluster) KillProgram(ctx context.Context, name string) error {
	return c.table().Get(name).ID.Kill(ctx)
}

// ProgramPID is the process of a program that runs.
func (c *Cluster) ProgramPID(name string) (int, error) {
	id := c.table().Get(name).ID
	if !id.Alive() {
		return 0, fmt.Errorf("%s: %w", name, process.ErrGone)
	}
	return id.PID, nil
}

// ProgramLog is where a program's output goes.
func (c *Cluster) ProgramLog(name string) string { return c.up().spec(process.Spec{Name: name}).Log }

func digest(file string) (string, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("reading a program: %w", err)
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:]), nil
}
