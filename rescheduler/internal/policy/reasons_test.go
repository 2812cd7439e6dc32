package policy

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-project/holdfast/rescheduler/internal/signals"
)

// anything returns random facts about a pod that matches a row.
func anything(random *rand.Rand, row signals.Row, dryRun bool) Facts {
	maybe := func() bool { return random.IntN(6) == 0 }
	f := facts(row.Name, func(f *Facts) { f.Match.Row, f.Config.DryRun = row, dryRun })
	set := func(yes bool, change func()) {
		if yes {
			change()
		}
	}
	f.Pod.Failed, f.Pod.Bare, f.Pod.Placed, f.Pod.Whole = random.IntN(2) == 0, maybe(), maybe(), maybe()
	f.Match.Down = !maybe()
	f.Config.BarePods.Recreate = random.IntN(2) == 0
	f.Workload.Memory.Times, f.Workload.Memory.Exhausted = random.IntN(4), maybe()
	set(maybe(), func() { f.Pod.Protected = "critical" })
	set(maybe(), func() { f.Pod.Pinned = "its volume is there" })
	set(maybe(), func() { f.Pod.Group = "g" })
	set(maybe(), func() { f.Node.Others = false })
	set(maybe(), func() { f.Workload.Recovering = noon.Add(time.Minute) })
	set(maybe(), func() { f.Workload.Recovered = noon })
	set(maybe(), func() { f.Workload.GroupMoved = noon })
	set(maybe(), func() { siblings([]string{"b", "c"}, nil)(&f) })
	f.Match.Since = noon.Add(-time.Duration(random.IntN(20)) * time.Minute)
	return f
}

// TestReasonsMatchDecisions makes decisions about many combinations of facts, and checks that exactly the listed reasons occur.
func TestReasonsMatchDecisions(t *testing.T) {
	for _, dry := range []bool{false, true} {
		for _, row := range signals.Default() {
			want, got := Reasons(row, dry), given(row, dry)
			slices.Sort(want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, dry run %t: %s", row.Name, dry, diff)
			}
		}
	}
}

// given returns the sorted reasons of many decisions about a row, some with an empty budget.
func given(row signals.Row, dryRun bool) []string {
	random, found := rand.New(rand.NewPCG(1, 7)), map[string]bool{}
	for range 600 {
		d := Decide(anything(random, row, dryRun))
		found[d.Reason] = true
		if d.Moves() {
			found[LimitReached] = true
		}
	}
	delete(found, TooEarly)
	delete(found, TooLongAgo)
	return slices.Sorted(maps.Keys(found))
}
