package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// child is a process that runs some of the members.
type child struct {
	first, size int
	process     *exec.Cmd
	in          io.WriteCloser
	out         *json.Decoder
	answers     *json.Encoder
	printed     *beginning // the beginning of what it has written to stderr
}

func startChild(ctx context.Context, p part) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{first: p.Options.First, size: p.Options.Members, process: exec.CommandContext(ctx, self, "-child"), printed: &beginning{}}
	c.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	c.process.Stderr = io.MultiWriter(os.Stderr, c.printed)
	if c.in, err = c.process.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out, c.answers = json.NewDecoder(bufio.NewReader(out)), json.NewEncoder(c.in)
	if err := c.process.Start(); err != nil {
		return nil, err
	}
	return c, c.answers.Encode(p)
}

// do sends a command and waits for the answer.
func (c *child) do(what command) (r report, err error) {
	if err = c.answers.Encode(what); err == nil {
		err = c.out.Decode(&r)
	}
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, syscall.EPIPE):
		err = c.end()
	case err == nil && r.Error != "":
		err = errors.New(r.Error)
	}
	if err != nil {
		return r, fmt.Errorf("members %d to %d: %s: %w", c.first, c.first+c.size-1, what.Do, err)
	}
	return r, nil
}

// endPatience is how long a process that has closed its output may take to end.
const endPatience = 10 * time.Second

// end waits for a process that has closed its output, and returns why it has ended.
func (c *child) end() error {
	kill := time.AfterFunc(endPatience, func() { _ = c.process.Process.Kill() })
	defer kill.Stop()
	_ = c.process.Wait() // ProcessState has the exit status
	return fmt.Errorf("their process ended (%s): %s", c.process.ProcessState, c.printed)
}

// beginning keeps the first bytes that are written to it. That is where Go prints the reason for a crash.
type beginning struct{ text []byte }

const beginningSize = 2 << 10

func (b *beginning) Write(p []byte) (int, error) {
	b.text = append(b.text, p[:min(len(p), beginningSize-len(b.text))]...)
	return len(p), nil
}

func (b *beginning) String() string {
	if len(b.text) == 0 {
		return "it printed no error; the kernel's log says whether memory was short"
	}
	return strings.TrimSpace(string(b.text))
}
