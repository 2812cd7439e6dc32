package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/holdfast-project/holdfast/e2e/fakes/members"
	"github.com/holdfast-project/holdfast/shared/coordination/valkey"
	"github.com/holdfast-project/holdfast/shared/testing/cputime"
)

// part describes the part of a group that a child process runs: its members, and how they connect to the store.
type part struct {
	Address, Username, PasswordFile, CA string
	Options                             members.Options
}

// command is a request from the parent to a child.
type command struct {
	Do       string
	From, To int       // run: indexes in the child; kill: index in the group
	Round    int64     // for the command "expect"
	Since    time.Time // for the command "reads"
}

// report is the child's response.
type report struct {
	Error string          `json:",omitempty"`
	Times []members.Times `json:",omitempty"`
	Reads int
	// Switches is how often the members have switched between a relay and the store.
	Switches int
	CPU      float64 // seconds so far
	Heap     int64
}

// serveParent runs a part of a group, and carries out the parent's commands until its input ends.
func serveParent(ctx context.Context, in io.Reader, out io.Writer) error {
	lines := json.NewDecoder(bufio.NewReader(in))
	var p part
	if err := lines.Decode(&p); err != nil {
		return err
	}
	g, err := members.Join(ctx, valkey.Options{Address: p.Address, Username: p.Username, PasswordFile: p.PasswordFile, TLS: valkey.TLSFiles{CA: p.CA}}, p.Options)
	if err != nil {
		return err
	}
	for answers := json.NewEncoder(out); ; {
		var c command
		err := lines.Decode(&c)
		switch {
		case errors.Is(err, io.EOF):
			return nil // the parent has exited; when this process exits, its connections are closed
		case err != nil:
			return fmt.Errorf("reading a command: %w", err)
		}
		if err := answers.Encode(obey(ctx, g, c)); err != nil {
			return err
		}
	}
}

func obey(ctx context.Context, g *members.Group, c command) (r report) {
	switch c.Do {
	case "run":
		g.Run(c.From, c.To)
	case "expect":
		g.Expect(c.Round)
	case "kill":
		g.Kill(c.From)
	case "await":
		if err := g.Await(ctx); err != nil {
			r.Error = err.Error()
		}
	case "times":
		r.Times = g.Times()
	case "reads":
		r.Reads = g.Reads(c.Since)
	case "switches":
		r.Switches = g.Switches()
	case "cpu":
		r.CPU = cputime.Used().Seconds()
	case "heap":
		r.Heap = heap()
	default:
		r.Error = fmt.Sprintf("unknown command %q", c.Do)
	}
	return r
}
