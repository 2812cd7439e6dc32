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
	"sync"
	"syscall"
	"time"

	"github.com/holdfast-project/holdfast/e2e/fakes/members"
	"github.com/holdfast-project/holdfast/shared/coordination/relay"
	"github.com/holdfast-project/holdfast/shared/coordination/valkey"
)

const (
	// membersOfAChild limits a child: with relays, each member has an open file on both sides.
	membersOfAChild = 8000
	// startedAtOnce members start once all but startingMost have read the level, because each has a connection to the store until it
	// uses its relay.
	startedAtOnce = 100
	startingMost  = 100
	formEvery     = 10 * time.Millisecond
)

// crowd is a group whose members are in several processes.
type crowd struct {
	size     int
	relays   relay.Plan
	server   *members.Server
	leader   *valkey.Store
	children []*child
	round    int64
}

// child is a process with a part of the members.
type child struct {
	first, size int
	process     *exec.Cmd
	in          io.WriteCloser
	out         *json.Decoder
	answers     *json.Encoder
}

// startCrowd starts a group. It returns once all of its members know that it runs.
func startCrowd(ctx context.Context, size int, relays bool) (*crowd, error) {
	c := &crowd{size: size}
	o := members.Options{Members: size, Share: share(size), Barrier: true}
	if relays {
		c.relays = relay.Plan{From: 2, Per: relay.DefaultPer}
	}
	connections := int(fileLimit()) - spareFiles
	var err error
	if c.server, err = members.StartDurableServer(ctx, connections); err != nil {
		return nil, err
	}
	if c.leader, err = members.Open(ctx, c.server.Options, o); err != nil {
		return nil, errors.Join(err, c.stop())
	}
	username, err := members.AllowMembers(ctx, c.leader)
	if err != nil {
		return nil, errors.Join(err, c.stop())
	}
	for first := 0; first < size; first += membersOfAChild {
		p := part{Address: c.server.Address, Username: username, PasswordFile: c.server.Options.PasswordFile, CA: c.server.CA(), Options: o}
		p.Options.First, p.Options.Members, p.Options.Total, p.Options.Relays = first, min(membersOfAChild, size-first), size, c.relays
		child, err := startChild(ctx, p)
		if err != nil {
			return nil, errors.Join(err, c.stop())
		}
		c.children = append(c.children, child)
	}
	if err := c.form(ctx); err != nil {
		return nil, errors.Join(err, c.stop())
	}
	return c, nil
}

func startChild(ctx context.Context, p part) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{first: p.Options.First, size: p.Options.Members, process: exec.CommandContext(ctx, self, "-child")}
	c.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	c.process.Stderr = os.Stderr
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
	if err := c.answers.Encode(what); err != nil {
		return r, err
	}
	if err := c.out.Decode(&r); err != nil {
		return r, fmt.Errorf("members %d to %d: %w", c.first, c.first+c.size-1, err)
	}
	if r.Error != "" {
		return r, fmt.Errorf("members %d to %d: %s", c.first, c.first+c.size-1, r.Error)
	}
	return r, nil
}

// all sends a command to all children.
func (c *crowd) all(what command) ([]report, error) {
	reports, errs := make([]report, len(c.children)), make([]error, len(c.children))
	var asking sync.WaitGroup
	for i, child := range c.children {
		asking.Go(func() { reports[i], errs[i] = child.do(what) })
	}
	asking.Wait()
	return reports, errors.Join(errs...)
}

// form starts the relays, and then the other members.
func (c *crowd) form(ctx context.Context) error {
	for _, child := range c.children {
		for i := 0; i < child.size && c.relays.From > 0; i += relay.DefaultPer {
			if _, err := child.do(command{Do: "run", From: i, To: i + 1}); err != nil {
				return err
			}
		}
	}
	if c.relays.From > 0 {
		waiting, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		if err := members.AwaitRelays(waiting, c.leader, members.Options{Members: c.size, Relays: c.relays}); err != nil {
			return err
		}
	}
	started := 0
	for from := 0; from < membersOfAChild; from += startedAtOnce {
		for _, child := range c.children {
			begin, end := from, min(from+startedAtOnce, child.size)
			if c.relays.From > 0 {
				begin++ // a relay, which runs already
			}
			if begin >= end {
				continue
			}
			if _, err := child.do(command{Do: "run", From: begin, To: end}); err != nil {
				return err
			}
			if started += end - begin; c.awaitReads(started-startingMost, time.Time{}) != nil {
				return fmt.Errorf("less than %d members have read the level", started-startingMost)
			}
		}
	}
	_, err := c.all(command{Do: "await"})
	return err
}

// awaitReads returns once so many members have read the level since then.
func (c *crowd) awaitReads(members int, since time.Time) error {
	for began, reads := time.Now(), 0; reads < members; time.Sleep(formEvery) {
		if time.Since(began) > stormPatience {
			return fmt.Errorf("%d of %d members have read the level", reads, members)
		}
		reports, err := c.all(command{Do: "reads", Since: since})
		if err != nil {
			return err
		}
		reads = 0
		for _, r := range reports {
			reads += r.Reads
		}
	}
	return nil
}

// restart kills the worker of one member. It returns once every member knows that the next round runs.
func (c *crowd) restart(ctx context.Context) (members.Round, error) {
	c.round++
	if _, err := c.all(command{Do: "expect", Round: c.round}); err != nil {
		return members.Round{}, err
	}
	victim := int(c.round*7919) % c.size
	died := time.Now().Round(0) // the wall clock, as the other processes have it
	if _, err := c.children[victim/membersOfAChild].do(command{Do: "kill", From: victim}); err != nil {
		return members.Round{}, err
	}
	if _, err := c.all(command{Do: "await"}); err != nil {
		return members.Round{}, err
	}
	reports, err := c.all(command{Do: "times"})
	if err != nil {
		return members.Round{}, err
	}
	var all []members.Times
	for _, r := range reports {
		all = append(all, r.Times...)
	}
	return members.Account(died, all), nil
}

// usage returns the CPU time of all members, and that of the store.
func (c *crowd) usage(ctx context.Context) (own, store float64, err error) {
	u, err := c.server.Usage(ctx)
	if err != nil {
		return 0, 0, err
	}
	reports, err := c.all(command{Do: "cpu"})
	for _, r := range reports {
		own += r.CPU
	}
	return own, u.CPU, err
}

// heap returns the memory of all members.
func (c *crowd) heap() (bytes int64, err error) {
	reports, err := c.all(command{Do: "heap"})
	for _, r := range reports {
		bytes += r.Heap
	}
	return bytes, err
}

func (c *crowd) stop() error {
	var err error
	for _, child := range c.children {
		err = errors.Join(err, child.in.Close())
	}
	for _, child := range c.children {
		_ = child.process.Wait()
	}
	if c.leader != nil {
		err = errors.Join(err, c.leader.Close())
	}
	c.server.Stop()
	return err
}

func fileLimit() uint64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 1024
	}
	return limit.Max
}
