package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/holdfast-project/holdfast/e2e/fakes/members"
	"github.com/holdfast-project/holdfast/e2e/framework/footprint"
	"github.com/holdfast-project/holdfast/shared/coordination/relay"
	"github.com/holdfast-project/holdfast/shared/coordination/valkey"
	"github.com/holdfast-project/holdfast/shared/testing/cputime"
)

const (
	// membersOfAChild is the maximum number of members in a child. With relays, a member's connection takes an open file at both ends. For
	// some seconds after its start, the member has two more open files for the store. Many systems permit 20,000 files.
	membersOfAChild = 4000
	// startedAtOnce is how many members start together. Before the next ones start, all but startingMost of the started members must have
	// read the level, because each has a connection to the store until it uses its relay.
	startedAtOnce = 100
	startingMost  = 100
	formPatience  = 15 * time.Minute
	agentTimeout  = 2 * time.Second // the default of the agent's store client
)

var errSlow = fmt.Errorf("it took longer than %v", formPatience)

// crowd is a group whose members are in several processes.
type crowd struct {
	size     int
	relays   relay.Plan
	server   *members.Server
	leader   *valkey.Store
	children []*child
	round    int64
	leading  sync.WaitGroup
	endLead  context.CancelFunc
}

// startCrowd starts a group. It returns once all members know that it is running.
func startCrowd(ctx context.Context, program string, size int, relays bool) (*crowd, error) {
	leading, endLead := context.WithCancel(ctx)
	c := &crowd{size: size, endLead: endLead}
	o := members.Options{Members: size, Share: share(size), Barrier: true, Timeout: agentTimeout}
	if relays {
		c.relays = relay.Plan{From: 2, Per: relay.DefaultPer}
	}
	connections := min(2*size+100, int(fileLimit())-spareFiles) // as in the chart, as far as the limit permits
	var err error
	if c.server, err = members.StartDurableServer(ctx, program, connections); err != nil {
		endLead()
		return nil, err
	}
	if c.leader, err = members.Open(ctx, c.server.Options, o); err != nil {
		return nil, errors.Join(err, c.stop())
	}
	username, err := members.AllowMembers(ctx, c.leader)
	if err != nil {
		return nil, errors.Join(err, c.stop())
	}
	c.leading.Go(func() { members.Lead(leading, c.leader) })
	for first := 0; first < size; first += membersOfAChild {
		p := part{Address: c.server.AddressOf(len(c.children)), Username: username, PasswordFile: c.server.Options.PasswordFile, CA: c.server.CA(), Options: o}
		p.Options.First, p.Options.Members, p.Options.Total, p.Options.Relays = first, min(membersOfAChild, size-first), size, c.relays
		child, err := startChild(ctx, p)
		if err != nil {
			return nil, errors.Join(err, c.stop())
		}
		c.children = append(c.children, child)
	}
	forming, cancel := context.WithTimeoutCause(ctx, formPatience, errSlow)
	defer cancel()
	if err := c.form(forming); err != nil {
		return nil, errors.Join(fmt.Errorf("forming the group: %w", err), c.stop())
	}
	return c, nil
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
		if err := errors.Join(checkMemory(), context.Cause(ctx)); err != nil {
			return fmt.Errorf("after starting %d members: %w", started, err)
		}
		for _, child := range c.children {
			begin, end := from, min(from+startedAtOnce, child.size)
			if c.relays.From > 0 {
				begin++ // a relay, which is already running
			}
			if begin >= end {
				continue
			}
			if _, err := child.do(command{Do: "run", From: begin, To: end}); err != nil {
				return err
			}
			started += end - begin
			if err := c.awaitReads(started-startingMost, time.Time{}); err != nil {
				return err
			}
		}
	}
	_, err := c.all(command{Do: "await"})
	return err
}

// awaitReads returns once the given number of members have read the level since the given time. It counts them at intervals, which are longer in
// larger groups because counting takes CPU time.
func (c *crowd) awaitReads(members int, since time.Time) error {
	every := max(5*time.Millisecond, time.Duration(c.size)*time.Microsecond)
	for began, reads := time.Now(), 0; reads < members; time.Sleep(every) {
		if time.Since(began) > stormPatience {
			return fmt.Errorf("%d of %d members have read the level after %v", reads, members, stormPatience)
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

// restart kills one member's worker. Once every member knows that the next round is running, it returns the CPU time used.
func (c *crowd) restart(ctx context.Context) (r members.Round, used parts, err error) {
	c.round++
	if _, err := c.all(command{Do: "expect", Round: c.round}); err != nil {
		return r, used, err
	}
	before, accepted, err := c.used(ctx)
	if err != nil {
		return r, used, err
	}
	victim := int(c.round*7919) % c.size
	died := time.Now().Round(0) // keep only the wall clock, which the other processes share
	if _, err := c.children[victim/membersOfAChild].do(command{Do: "kill", From: victim}); err != nil {
		return r, used, err
	}
	if _, err := c.all(command{Do: "await"}); err != nil {
		return r, used, fmt.Errorf("%w; %s", err, c.accepted(ctx, accepted))
	}
	after, err := c.cpu(ctx)
	if err != nil {
		return r, used, err
	}
	reports, err := c.all(command{Do: "times"})
	if err != nil {
		return r, used, err
	}
	var all []members.Times
	for _, r := range reports {
		all = append(all, r.Times...)
	}
	return members.Account(died, all), after.plus(before, -1), nil
}

// parts holds a value for each part of a crowd, such as the CPU time that it has used so far in seconds.
type parts struct {
	Store   float64 `json:"store"`
	Members float64 `json:"members"` // including the relays
	Leader  float64 `json:"leader"`  // this process
}

func (p parts) plus(o parts, times float64) parts {
	return parts{Store: p.Store + times*o.Store, Members: p.Members + times*o.Members, Leader: p.Leader + times*o.Leader}
}

// cpu returns the CPU time that each part has used so far.
func (c *crowd) cpu(ctx context.Context) (parts, error) {
	p, _, err := c.used(ctx)
	return p, err
}

// used returns the CPU time that each part has used so far, and how many connections the store has accepted.
func (c *crowd) used(ctx context.Context) (p parts, accepted int64, err error) {
	u, err := c.server.Usage(ctx)
	if err != nil {
		return p, 0, err
	}
	reports, err := c.all(command{Do: "cpu"})
	for _, r := range reports {
		p.Members += r.CPU
	}
	p.Store, p.Leader = u.CPU, cputime.Used().Seconds()
	return p, u.Accepted, err
}

// accepted returns a phrase with the number of connections that the store has accepted since the earlier count. Members whose connections time
// out open new ones.
func (c *crowd) accepted(ctx context.Context, before int64) string {
	u, err := c.server.Usage(ctx)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("the store has accepted %d connections in the meantime", u.Accepted-before)
}

// switches returns how often the members have switched between a relay and the store.
func (c *crowd) switches() (n int, err error) {
	reports, err := c.all(command{Do: "switches"})
	for _, r := range reports {
		n += r.Switches
	}
	return n, err
}

// memory returns the heap of all members, and the peak resident size of their processes, in bytes.
func (c *crowd) memory() (heap, resident int64, err error) {
	reports, err := c.all(command{Do: "heap"})
	for i, r := range reports {
		heap += r.Heap
		mib, peakErr := footprint.Peak(c.children[i].process.Process.Pid)
		resident, err = resident+int64(mib*(1<<20)), errors.Join(err, peakErr)
	}
	return heap, resident, err
}

func (c *crowd) stop() error {
	c.endLead()
	c.leading.Wait()
	var err error
	for _, child := range c.children {
		_ = child.in.Close()
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
