package main

import (
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/relay"
)

// printModel prints the measured time of a restart next to the minimum time that follows from its CPU time.
//
// On one machine, all parts share the cores, so the minimum is the CPU time of all parts divided by the number of cores. If each node has its
// own core, the store's single thread serves all members, and then a relay serves its members.
func printModel(w io.Writer, all []crowdResult) {
	cores := runtime.NumCPU()
	fmt.Fprintf(w, "\nThe model: the least time that the measured CPU takes on %d cores for all, and with a core for each node\n\n", cores)
	fmt.Fprintf(w, "| store | members | relays | measured, ms | %d cores for all, ms | a core for each node, ms |\n", cores)
	fmt.Fprintln(w, "|---|---|---|---|---|---|")
	for _, r := range all {
		fmt.Fprintf(w, "| %s | %d | %s | %d | %d | %d |\n", r.Store, r.Members, yes(r.Relays), r.Median.Start.Last.Milliseconds(),
			sharedCores(r, cores).Milliseconds(), ownCores(r).Milliseconds())
	}
}

func sharedCores(r crowdResult, cores int) time.Duration {
	return seconds((r.CPU.Store + r.CPU.Members + r.CPU.Leader) / float64(cores))
}

// ownCores returns the store's CPU time plus the mean CPU time of the members that one relay serves. Without relays, it adds the mean CPU
// time of one agent.
func ownCores(r crowdResult) time.Duration {
	served := 1.0
	if r.Relays {
		served = relay.DefaultPer
	}
	return seconds(r.CPU.Store + r.CPU.Members/float64(r.Members)*served)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
