package supervisor

import (
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/agent/internal/config"
	"github.com/holdfast-project/holdfast/agent/internal/process"
	"github.com/holdfast-project/holdfast/shared/coordination/simulation/memory"
)

// shell returns a program that runs a shell script.
func shell(script string) process.Spec {
	return process.Spec{Path: "/bin/sh", Args: []string{"sh", "-c", script}}
}

func TestTheOutputOfAWorkerIsCopiedToTheSupervisors(t *testing.T) {
	out, errs := &lines{}, &lines{}
	p := newOutputProgress([2]io.Writer{out, errs})
	p.clear()
	c, err := p.through(process.Start)(shell("echo one; echo two >&2; head -c 300000 /dev/zero | tr '\\0' x"))
	if err != nil {
		t.Fatal(err)
	}
	c.Exit()
	if err := c.End(syscall.SIGKILL, 0); err != nil {
		t.Fatal(err)
	}
	p.finish(drainTimeout)
	if want := "one\n" + strings.Repeat("x", 300000); out.String() != want {
		t.Errorf("standard output has %d bytes, want %d: %.20q", len(out.String()), len(want), out.String())
	}
	if errs.String() != "two\n" {
		t.Errorf("standard error has %q", errs.String())
	}
	if p.count() == 0 {
		t.Error("the output does not count as progress")
	}
}

// Output that a dead program left in its pipe arrives late.
func TestOutputOfAnEarlierProgramIsNoProgressOfTheNext(t *testing.T) {
	p := newOutputProgress([2]io.Writer{io.Discard, io.Discard})
	earlier := p.n.Load()
	p.clear()
	earlier.Add(1)
	if p.count() != 0 {
		t.Error("the output of the earlier program counts as progress")
	}
	p.n.Load().Add(1)
	if p.count() != 1 {
		t.Error("the output of the next program does not count as progress")
	}
}

// deaf fails every write, like a log whose reader is gone.
type deaf struct{}

func (deaf) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestAWorkerWhoseLogIsGoneKeepsRunning(t *testing.T) {
	p := newOutputProgress([2]io.Writer{deaf{}, deaf{}})
	p.clear()
	c, err := p.through(process.Start)(shell("head -c 1000000 /dev/zero"))
	if err != nil {
		t.Fatal(err)
	}
	if code := c.Exit().Code; code != 0 {
		t.Errorf("it exits %d", code)
	}
	_ = c.End(syscall.SIGKILL, 0)
}

// The log of a container contains the complete output of all rounds, up to the last byte.
func TestTheLogOfASupervisedWorkerIsComplete(t *testing.T) {
	g := newGroup(t, memory.New(time.Now), 1, "")
	p := g.pods[0]
	p.config.Progress.Timeout, p.config.ProgressFrom = time.Minute, config.FromOutput
	script := shell("echo round $HOLDFAST_RESTART_ROUND; test $HOLDFAST_RESTART_ROUND = 1 && echo last words >&2 || exit 1")
	p.program = &script
	g.open(1)
	g.start()
	if code := p.exit(); code != 0 {
		t.Errorf("exits %d", code)
	}
	got := p.output.String()
	stdout := strings.Replace(got, "last words\n", "", 1) // the order of stdout and stderr relative to each other is undefined
	if stdout != "round 0\nround 1\n" || stdout == got {
		t.Errorf("the log has %q, want both rounds and the last words", got)
	}
}
