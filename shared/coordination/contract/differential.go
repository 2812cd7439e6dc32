package contract

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/memory"
)

const (
	defaultSeeds = 150
	seedLength   = 50
	impatience   = 200 * time.Millisecond // while shrinking, when a broadcast is known to be missing
)

// Seeds is how many random sequences a test runs: HOLDFAST_SEEDS, or a number that takes seconds.
func Seeds(t *testing.T) uint64 {
	text := os.Getenv("HOLDFAST_SEEDS")
	if text == "" {
		return defaultSeeds
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		t.Fatalf("HOLDFAST_SEEDS: %v", err)
	}
	return n
}

// InMemory is the store in the process, which runs the functions in an interpreter. Servers are compared with it.
func InMemory() Harness {
	s := memory.New(time.Now)
	return Harness{
		Store: s,
		Save:  func() func() { d := s.Dump(); return func() { s.Restore(d) } },
		Lose:  s.Wipe,
	}
}

// Conform runs random sequences on the store in the process and on a server: every reply, every error, all that can be read
// after each step and all that was broadcast must be the same, times excluded. It shows that what the simulation and the
// tests play is what a server runs.
func Conform(t *testing.T, newStore func(t *testing.T) Harness) {
	for seed := range Seeds(t) {
		steps := sequence(seed)
		difference := compare(t, newStore, steps, patience)
		if difference == "" {
			continue
		}
		small := shrink(steps, func(s []Step) bool { return compare(t, newStore, s, impatience) != "" })
		if found := compare(t, newStore, small, patience); found != "" { // a machine may be too slow for impatience
			steps, difference = small, found
		}
		t.Fatalf("seed %d: the interpreter and the server differ (-interpreter +server) after\n%s\n%s", seed, transcript(steps), difference)
	}
}

// compare returns the first difference. It waits so long for broadcasts that are missing.
func compare(t *testing.T, newStore func(t *testing.T) Harness, steps []Step, patience time.Duration) string {
	inProcess, under := runner{Harness: InMemory()}, runner{Harness: newStore(t)}
	watch := Watch(t, under.Store, group)
	defer watch.Stop()
	if !watch.Await(func(seen []coordination.Observation) bool {
		return slices.ContainsFunc(seen, func(o coordination.Observation) bool { return o.Read })
	}) {
		t.Fatal("the level was never read, so what is broadcast may be missed")
	}
	var level coordination.Level
	var moves []coordination.Level
	for _, s := range steps {
		want := inProcess.run(s)
		if diff := cmp.Diff(timeless(want), timeless(under.run(s)), cmpopts.EquateEmpty()); diff != "" {
			return fmt.Sprintf("%s\n%s", s, diff)
		}
		if want.Summary.Level != level && want.Exists && !isFault(s) {
			moves = append(moves, want.Summary.Level)
		}
		level = want.Summary.Level
	}
	watch.await(patience, func(seen []coordination.Observation) bool { return len(broadcasts(seen)) >= len(moves) })
	if diff := cmp.Diff(moves, broadcasts(watch.Seen())); diff != "" {
		return "broadcasts\n" + diff
	}
	return ""
}

// isFault tells whether a step changes the data behind the back of the protocol, so that nothing is broadcast.
func isFault(s Step) bool { return s.Verb == "restore" || s.Verb == "lose" }

func broadcasts(seen []coordination.Observation) []coordination.Level {
	var levels []coordination.Level
	for _, o := range seen {
		if !o.Read && o.Err == nil {
			levels = append(levels, o.Level)
		}
	}
	return levels
}

// timeless keeps of the store's times only whether they are there.
func timeless(o Outcome) Outcome {
	o.Summary.Record = timelessRecord(o.Summary.Record)
	for i, r := range o.History {
		o.History[i] = timelessRecord(r)
	}
	return o
}

func timelessRecord(r coordination.Record) coordination.Record {
	for _, at := range []*int64{&r.ReportedAt, &r.LastDownAt, &r.FirstUpAt, &r.LastUpAt, &r.InSyncAt, &r.LastStartAt} {
		*at = min(*at, 1)
	}
	return r
}

// shrink drops steps as long as the rest still fails.
func shrink(steps []Step, fails func([]Step) bool) []Step {
	for size := len(steps) / 2; size > 0; {
		shorter := false
		for from := 0; from+size <= len(steps); {
			rest := append(append([]Step(nil), steps[:from]...), steps[from+size:]...)
			if fails(rest) {
				steps, shorter = rest, true
			} else {
				from++
			}
		}
		if !shorter {
			size /= 2
		}
	}
	return steps
}

func transcript(steps []Step) string {
	var lines strings.Builder
	for _, s := range steps {
		fmt.Fprintf(&lines, "\t%s\n", s)
	}
	return lines.String()
}

// sequence is the random sequence of a seed. It runs along on a store of its own, so that what agents have seen is
// mostly plausible.
func sequence(seed uint64) []Step {
	g := newGenerator(seed)
	steps := []Step{g.open()}
	for len(steps) < seedLength {
		g.now = g.store.run(steps[len(steps)-1])
		steps = append(steps, g.next())
	}
	return steps
}
