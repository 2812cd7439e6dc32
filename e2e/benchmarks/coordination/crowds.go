package main

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-project/holdfast/e2e/fakes/members"
	"github.com/holdfast-project/holdfast/e2e/framework/footprint"
)

// crowdResult holds the measurements of one large group.
type crowdResult struct {
	Members  int             `json:"members"`
	Relays   bool            `json:"relays"`
	Store    string          `json:"store"`                // the program
	Share    int             `json:"membersPerConnection"` // for calls, without relays
	At       time.Time       `json:"at"`
	Commit   string          `json:"commit"`
	Load     float64         `json:"loadBefore"` // processes that ran or waited before the first member started
	Formed   time.Duration   `json:"formedNanoseconds"`
	Rounds   []members.Round `json:"roundsNanoseconds"`
	Median   members.Round   `json:"medianNanoseconds"`
	CPU      parts           `json:"cpuSeconds"` // mean of one restart, from the worker's death until all members know that the round is running
	Switches int             `json:"switches"`   // between a relay and the store, during these restarts
	Server   members.Usage   `json:"server"`
	Resident int64           `json:"serverResidentBytes"`  // at its peak
	Heap     int64           `json:"membersHeapBytes"`     // of all members, with their connections
	Peak     int64           `json:"membersResidentBytes"` // at its peak
	Storm    *stormResult    `json:"storm,omitempty"`
}

// stormResult is what happened after a restart of the store.
type stormResult struct {
	Answers  time.Duration `json:"answersNanoseconds"`         // from the start of the store until it responds to the leader
	Allowed  time.Duration `json:"allowedNanoseconds"`         // from the start of the store until the leader has recreated the users
	Back     time.Duration `json:"allBackNanoseconds"`         // from the start of the store until all members have read the level
	Answered time.Duration `json:"failureAnsweredNanoseconds"` // until all members have restarted after a failure right after that
	CPU      parts         `json:"cpuSeconds"`                 // until all members are back; the leader's includes the measurement itself
	Accepted int64         `json:"acceptedConnections"`        // by the store until all are back
	Peak     int64         `json:"serverPeakBytes"`
	Resident int64         `json:"serverResidentBytes"`
}

// measureCrowd measures the restarts of a group. If storm is set, it also measures the cost of restarting the store.
func measureCrowd(ctx context.Context, program string, size int, relays bool, rounds int, storm bool) (r crowdResult, err error) {
	r = crowdResult{Members: size, Relays: relays, Store: program, Share: share(size), At: time.Now().UTC().Truncate(time.Second), Commit: commit(), Load: load()}
	if err := checkBacklog(size); err != nil {
		return r, err
	}
	began := time.Now()
	c, err := startCrowd(ctx, program, size, relays)
	if err != nil {
		return r, err
	}
	defer func() { _ = c.stop() }()
	r.Formed = time.Since(began)
	if _, _, err := c.restart(ctx); err != nil {
		return r, fmt.Errorf("the first restart: %w", err)
	}
	time.Sleep(idle) // members close store connections that they no longer need
	if err := r.restarts(ctx, c, rounds); err != nil {
		return r, err
	}
	if r.Server, r.Resident, err = c.store(ctx); err != nil {
		return r, err
	}
	if r.Heap, r.Peak, err = c.memory(); err != nil {
		return r, err
	}
	if storm {
		if r.Storm, err = c.storm(ctx); err != nil {
			return r, fmt.Errorf("after a restart of the store: %w", err)
		}
	}
	return r, nil
}

func (r *crowdResult) restarts(ctx context.Context, c *crowd, rounds int) error {
	before, err := c.switches()
	if err != nil {
		return err
	}
	for i := range rounds {
		round, used, err := c.restart(ctx)
		if err != nil {
			return fmt.Errorf("restart %d: %w", i+2, err)
		}
		r.Rounds, r.CPU = append(r.Rounds, round), r.CPU.plus(used, 1/float64(rounds))
	}
	r.Median = members.Median(r.Rounds)
	after, err := c.switches()
	r.Switches = after - before
	return err
}

// store returns what the store has used, and the peak resident size of its process in bytes.
func (c *crowd) store(ctx context.Context) (members.Usage, int64, error) {
	u, err := c.server.Usage(ctx)
	if err != nil {
		return u, 0, err
	}
	mib, err := footprint.Peak(c.server.PID())
	return u, int64(mib * (1 << 20)), err
}

const (
	// idle is longer than the time for which a member that uses a relay keeps its connection to the store.
	idle          = 9 * time.Second
	allowEvery    = 50 * time.Millisecond
	stormPatience = 2 * time.Minute
)

// storm restarts the store. The group's leader recreates the users, as the orchestrator does, and all members reconnect.
func (c *crowd) storm(ctx context.Context) (*stormResult, error) {
	before, err := c.cpu(ctx)
	if err != nil {
		return nil, err
	}
	began, err := c.server.Restart(ctx)
	if err != nil {
		return nil, err
	}
	before.Store = 0       // the store runs in a new process
	began = began.Round(0) // keep only the wall clock, which the other processes share
	s := &stormResult{Answers: time.Since(began)}
	if err := c.allowAgain(ctx); err != nil {
		return nil, err
	}
	s.Allowed = time.Since(began)
	if err := c.awaitReads(c.size, began); err != nil {
		return nil, err
	}
	s.Back = time.Since(began)
	now, err := c.server.Usage(ctx)
	if err != nil {
		return nil, err
	}
	s.Accepted = now.Accepted
	after, err := c.cpu(ctx)
	if err != nil {
		return nil, err
	}
	s.CPU = after.plus(before, -1)
	round, _, err := c.restart(ctx)
	if err != nil {
		return nil, err
	}
	s.Answered = round.Start.Last
	usage, resident, err := c.store(ctx)
	s.Peak, s.Resident = usage.Peak, resident
	return s, err
}

// allowAgain recreates the users. Like the orchestrator, it retries while the members' connections keep the store busy.
func (c *crowd) allowAgain(ctx context.Context) error {
	for began := time.Now(); ; time.Sleep(allowEvery) {
		_, err := members.AllowMembers(ctx, c.leader)
		if err == nil || ctx.Err() != nil || time.Since(began) > stormPatience {
			return err
		}
	}
}
