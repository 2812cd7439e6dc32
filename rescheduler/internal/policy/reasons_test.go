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

// TestReasonsMatchDecisions makes decisions about many combinations of facts, and checks that exactly the listed reasons occur. The action
// of a row can be configured.
func TestReasonsMatchDecisions(t *testing.T) {
	found := map[signals.Action]map[string]bool{signals.Never: {}, signals.Record: {}, signals.Move: {}}
	for action, reasons := range found {
		for _, row := range signals.Default() {
			if row.Action = action; action != signals.Never && row.TTL == 0 {
				continue // refused by the settings
			}
			give(reasons, row, false)
			give(reasons, row, true)
		}
		if diff := cmp.Diff(slices.Sorted(slices.Values(Reasons[action])), slices.Sorted(maps.Keys(reasons))); diff != "" {
			t.Errorf("%s: %s", action, diff)
		}
	}
}

// give adds the reasons of many decisions about a row, some with an empty budget.
func give(reasons map[string]bool, row signals.Row, dryRun bool) {
	random := rand.New(rand.NewPCG(1, 7))
	for range 600 {
		d := Decide(anything(random, row, dryRun))
		reasons[d.Reason] = true
		if d.Moves() {
			reasons[LimitReached] = true
		}
	}
	delete(reasons, TooEarly)
	delete(reasons, TooLongAgo)
}
