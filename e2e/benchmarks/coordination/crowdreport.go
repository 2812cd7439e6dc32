package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-project/holdfast/e2e/fakes/members"
)

const crowdsFile = "coordination-crowds.json"

// keepCrowd adds a result to the file, replacing any earlier result of the same kind, and returns all results.
func keepCrowd(dir string, r crowdResult) ([]crowdResult, error) {
	var all []crowdResult
	text, err := os.ReadFile(filepath.Join(dir, crowdsFile))
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading earlier results: %w", err)
	}
	all = slices.DeleteFunc(all, func(o crowdResult) bool { return compareKinds(o, r) == 0 })
	all = append(all, r)
	slices.SortFunc(all, compareKinds)
	return all, save(dir, crowdsFile, all)
}

func compareKinds(a, b crowdResult) int {
	return cmp.Or(cmp.Compare(a.Store, b.Store), cmp.Compare(yes(a.Relays), yes(b.Relays)), cmp.Compare(a.Members, b.Members))
}

func printCrowds(w io.Writer, all []crowdResult) {
	fmt.Fprintf(w, "\nTLS, a store user, an append-only file. Milliseconds from the death of one worker until the last member; medians, (minimum-maximum)\n\n")
	fmt.Fprintln(w, "| store | members | relays | knows that all have joined | order, 99 % | order | joined | CPU of a member and restart, us: store | agents | leader | changes between relay and store | rounds | commit | load before |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|")
	for _, r := range all {
		n := float64(r.Members) / 1e6
		fmt.Fprintf(w, "| %s | %d | %s | %s | %d | %d | %d | %.1f | %.1f | %.2f | %d | %d | %s | %.1f |\n", r.Store, r.Members, yes(r.Relays), startSpan(r),
			r.Median.Order.P99.Milliseconds(), r.Median.Order.Last.Milliseconds(), r.Median.Join.Last.Milliseconds(),
			r.CPU.Store/n, r.CPU.Members/n, r.CPU.Leader/n, r.Switches, len(r.Rounds), r.Commit, r.Load)
	}
	printMemory(w, all)
	printStorms(w, all)
	printModel(w, all)
}

// startSpan returns the median time until all members know that the round is running, with the minimum and the maximum, in milliseconds.
func startSpan(r crowdResult) string {
	last := func(r members.Round) time.Duration { return r.Start.Last }
	order := func(a, b members.Round) int { return cmp.Compare(last(a), last(b)) }
	if len(r.Rounds) == 0 {
		return "-"
	}
	return fmt.Sprintf("%d (%d-%d)", last(r.Median).Milliseconds(), last(slices.MinFunc(r.Rounds, order)).Milliseconds(), last(slices.MaxFunc(r.Rounds, order)).Milliseconds())
}

func printMemory(w io.Writer, all []crowdResult) {
	fmt.Fprintf(w, "\nMemory. A store counts its own memory without that of the TLS library; its resident size has both\n\n")
	fmt.Fprintln(w, "| store | members | relays | connections of the store | counted, MiB | peak, MiB | resident at its peak, MiB | KiB a connection | agents: heap, KiB each | resident, KiB each | formed, s |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|---|---|")
	const kib, mib = 1 << 10, 1 << 20
	for _, r := range all {
		n := float64(r.Members)
		fmt.Fprintf(w, "| %s | %d | %s | %d | %.0f | %.0f | %.0f | %.1f | %.0f | %.0f | %.0f |\n", r.Store, r.Members, yes(r.Relays), r.Server.Connections,
			float64(r.Server.Bytes)/mib, float64(r.Server.Peak)/mib, float64(r.Resident)/mib, float64(r.Resident)/float64(max(1, r.Server.Connections))/kib,
			float64(r.Heap)/n/kib, float64(r.Peak)/n/kib, r.Formed.Seconds())
	}
}

func printStorms(w io.Writer, all []crowdResult) {
	fmt.Fprintf(w, "\nThe store restarts: seconds since its start until it answers the leader and until all members have read the level, and milliseconds until a failure after that is answered\n\n")
	fmt.Fprintln(w, "| store | members | relays | it answers, s | users made again, s | all back, s | failure answered, ms | connections accepted | store CPU, s | CPU of agents, s | peak, MiB | resident, MiB |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|---|---|---|")
	for _, r := range all {
		if s := r.Storm; s != nil {
			fmt.Fprintf(w, "| %s | %d | %s | %.1f | %.1f | %.1f | %d | %d | %.1f | %.1f | %d | %d |\n", r.Store, r.Members, yes(r.Relays), s.Answers.Seconds(), s.Allowed.Seconds(), s.Back.Seconds(), s.Answered.Milliseconds(),
				s.Accepted, s.CPU.Store, s.CPU.Members, s.Peak>>20, s.Resident>>20)
		}
	}
}

// commit returns the commit of the working tree.
func commit() string {
	out, err := exec.Command("git", "describe", "--always", "--dirty", "--exclude", "*").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

// load returns the average number of processes that ran or waited in the last minute.
func load() (l float64) {
	text, _ := os.ReadFile("/proc/loadavg")
	_, _ = fmt.Sscan(string(text), &l)
	return l
}
