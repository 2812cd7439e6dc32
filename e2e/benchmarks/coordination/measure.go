package main

import (
	"context"
	"fmt"
	"runtime"
	"syscall"
	"time"

	"github.com/holdfast-project/holdfast/e2e/fakes/members"
	"github.com/holdfast-project/holdfast/shared/cputime"
)

// result is one size of a group.
type result struct {
	Members  int             `json:"members"`
	Driver   string          `json:"driver"`
	Share    int             `json:"membersPerConnection"` // for calls; each member has a subscription of its own
	Formed   time.Duration   `json:"formedNanoseconds"`    // from nothing, connecting included
	Rounds   []members.Round `json:"roundsNanoseconds"`
	Median   members.Round   `json:"medianNanoseconds"`
	Server   members.Usage   `json:"server"`          // after the rounds
	PerRound rates           `json:"perRound"`        // of one restart
	Heap     int64           `json:"memberHeapBytes"` // of this process, for one member
}

// rates are what one restart costs the server.
type rates struct {
	Calls float64 `json:"commands"`
	CPU   float64 `json:"cpuSeconds"`
	// MembersCPU is that of this process: members, and the kernel's part of their connections.
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

// share is 1, as agents have it, unless this process may not open so many files: the server needs two for a member, and
// so does this process.
func share(size int) int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || 2*uint64(size)+spareFiles < limit.Max {
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
