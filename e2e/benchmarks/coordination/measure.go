package main

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/holdfast-project/holdfast/e2e/fakes/members"
	"github.com/holdfast-project/holdfast/shared/testing/cputime"
)

// result holds the measurements of one group size.
type result struct {
	Members  int             `json:"members"`
	Driver   string          `json:"driver"`
	Share    int             `json:"membersPerConnection"` // for calls; each member has its own subscription
	Formed   time.Duration   `json:"formedNanoseconds"`    // from the start, including connecting
	Rounds   []members.Round `json:"roundsNanoseconds"`
	Median   members.Round   `json:"medianNanoseconds"`
	Server   members.Usage   `json:"server"`          // after the rounds
	PerRound rates           `json:"perRound"`        // of one restart
	Heap     int64           `json:"memberHeapBytes"` // of this process, per member
}

// rates holds the resources that one restart uses.
type rates struct {
	Calls float64 `json:"commands"`
	CPU   float64 `json:"cpuSeconds"`
	// MembersCPU is this process's CPU time: that of the members, and the kernel's work for their connections.
	MembersCPU float64 `json:"membersCPUSeconds"`
}

func measure(ctx context.Context, size int, driver string, rounds int) (result, error) {
	r := result{Members: size, Driver: driver, Share: share(size)}
	o := members.Options{Members: size, Share: r.Share, Barrier: driver == "exec"}
	server, err := members.StartSecureServer(ctx, o.Connections())
	if err != nil {
		return r, err
	}
	defer server.Stop()
	before := heap()
	f, formed, err := members.Start(ctx, server.Options, o)
	if err != nil {
		return r, err
	}
	defer f.Stop()
	r.Formed, r.Heap = formed, (heap()-before)/int64(size)
	if _, err := f.Restart(ctx); err != nil {
		return r, fmt.Errorf("the first restart: %w", err)
	}
	return r, r.restarts(ctx, f, server, rounds)
}

func (r *result) restarts(ctx context.Context, f *members.Group, server *members.Server, rounds int) error {
	own := cputime.Used().Seconds()
	begin, err := server.Usage(ctx)
	if err != nil {
		return err
	}
	for i := range rounds {
		round, err := f.Restart(ctx)
		if err != nil {
			return fmt.Errorf("restart %d: %w", i+2, err)
		}
		r.Rounds = append(r.Rounds, round)
	}
	if r.Server, err = server.Usage(ctx); err != nil {
		return err
	}
	n := float64(rounds)
	r.PerRound = rates{Calls: float64(r.Server.Calls-begin.Calls) / n, CPU: (r.Server.CPU - begin.CPU) / n, MembersCPU: (cputime.Used().Seconds() - own) / n}
	r.Median = members.Median(r.Rounds)
	return nil
}

// share returns how many members share a connection. It is 1, as for real agents, unless the limit on open files is too
// low: the server and this process each need two files for a member.
func share(size int) int {
	if 2*uint64(size)+spareFiles < fileLimit() {
		return 1
	}
	return 100
}

const spareFiles = 200

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}
