package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/holdfast-project/holdfast/e2e/fakes/members"
)

// crowdResult holds the measurements of one large group.
type crowdResult struct {
	Members  int             `json:"members"`
	Relays   bool            `json:"relays"`
	Share    int             `json:"membersPerConnection"` // for calls, without relays
	Rounds   []members.Round `json:"roundsNanoseconds"`
	Median   members.Round   `json:"medianNanoseconds"`
	Server   members.Usage   `json:"server"`
	StoreCPU float64         `json:"storeCPUSeconds"`   // of one restart
	OwnCPU   float64         `json:"membersCPUSeconds"` // of one restart, with the relays
	Heap     int64           `json:"membersHeapBytes"`
	Storm    *stormResult    `json:"storm,omitempty"`
}

// stormResult is what happened after a restart of the store.
type stormResult struct {
	Back     time.Duration `json:"allBackNanoseconds"`         // since the store answers again
	Answered time.Duration `json:"failureAnsweredNanoseconds"` // a failure right after that
	StoreCPU float64       `json:"storeCPUSeconds"`            // until all are back
	OwnCPU   float64       `json:"membersCPUSeconds"`
}

// measureCrowd measures restarts of a group, and then what a restart of the store costs it.
func measureCrowd(ctx context.Context, size int, relays bool, rounds int, storm bool) (r crowdResult, err error) {
	c, err := startCrowd(ctx, size, relays)
	if err != nil {
		return r, err
	}
	defer func() { _ = c.stop() }()
	r = crowdResult{Members: size, Relays: relays, Share: share(size)}
	if _, err := c.restart(ctx); err != nil {
		return r, fmt.Errorf("the first restart: %w", err)
	}
	time.Sleep(idle) // connections to the store that are no longer needed are closed
	own, store, err := c.usage(ctx)
	if err != nil {
		return r, err
	}
	for i := range rounds {
		round, err := c.restart(ctx)
		if err != nil {
			return r, fmt.Errorf("restart %d: %w", i+2, err)
		}
		r.Rounds = append(r.Rounds, round)
	}
	after, storeAfter, err := c.usage(ctx)
	if err != nil {
		return r, err
	}
	r.Median = members.Median(r.Rounds)
	r.StoreCPU, r.OwnCPU = (storeAfter-store)/float64(rounds), (after-own)/float64(rounds)
	if r.Server, err = c.server.Usage(ctx); err != nil {
		return r, err
	}
	if r.Heap, err = c.heap(); err != nil {
		return r, err
	}
	if storm {
		r.Storm, err = c.storm(ctx)
	}
	return r, err
}

const (
	// idle is longer than a member that uses a relay keeps its connection to the store.
	idle          = 9 * time.Second
	stormPatience = 2 * time.Minute
)

// storm restarts the store. Its leader makes the users again, as the orchestrator does, and all members return.
func (c *crowd) storm(ctx context.Context) (*stormResult, error) {
	own, _, err := c.usage(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.server.Restart(ctx); err != nil {
		return nil, err
	}
	began := time.Now().Round(0)
	if _, err := members.AllowMembers(ctx, c.leader); err != nil {
		return nil, err
	}
	s := &stormResult{}
	if err := c.awaitReads(c.size, began); err != nil {
		return nil, err
	}
	s.Back = time.Since(began)
	after, store, err := c.usage(ctx)
	if err != nil {
		return nil, err
	}
	s.OwnCPU, s.StoreCPU = after-own, store // the process of the store is a new one
	round, err := c.restart(ctx)
	s.Answered = round.Start.Last
	return s, err
}

func printCrowds(w io.Writer, all []crowdResult) {
	fmt.Fprintf(w, "\nTLS, a store user, an append-only file; milliseconds from the death of one worker until the last member; medians of the rounds\n\n")
	fmt.Fprintln(w, "| members | relays | order | joined | knows that all have | store CPU a member, us | CPU of members, us each | connections of the store | store, MiB | members, KiB each |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|---|")
	for _, r := range all {
		n := float64(r.Members)
		fmt.Fprintf(w, "| %d | %s | %d | %d | %d | %.1f | %.0f | %d | %.0f | %.0f |\n", r.Members, yes(r.Relays), r.Median.Order.Last.Milliseconds(),
			r.Median.Join.Last.Milliseconds(), r.Median.Start.Last.Milliseconds(), r.StoreCPU*1e6/n, r.OwnCPU*1e6/n, r.Server.Connections,
			float64(r.Server.Bytes)/(1<<20), float64(r.Heap)/n/1024)
	}
	fmt.Fprintf(w, "\nThe store restarts: seconds until all members have read the level, and milliseconds until a failure after that is answered\n\n")
	fmt.Fprintln(w, "| members | relays | all back, s | failure answered, ms | store CPU, s | CPU of members, s |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|")
	for _, r := range all {
		if s := r.Storm; s != nil {
			fmt.Fprintf(w, "| %d | %s | %.1f | %d | %.1f | %.1f |\n", r.Members, yes(r.Relays), s.Back.Seconds(), s.Answered.Milliseconds(), s.StoreCPU, s.OwnCPU)
		}
	}
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
