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

// anything is what may be known of a pod that matches a row.
func anything(random *rand.Rand, row signals.Row, rules Rules) Facts {
	maybe := func() bool { return random.IntN(6) == 0 }
	f := facts(row.Name, func(f *Facts) { f.Match.Row, f.Rules = row, rules })
	set := func(yes bool, change func()) {
		if yes {
			change()
		}
	}
	f.Pod.Failed, f.Pod.Bare, f.Pod.Placed, f.Pod.Whole = random.IntN(2) == 0, maybe(), maybe(), maybe()
	f.Node.HasImage, f.Match.Down = random.IntN(2) == 0, !maybe()
	f.Rules.Taints, f.Rules.RecreateBare = random.IntN(2) == 0, random.IntN(2) == 0
	f.Workload.Memory.Times, f.Workload.Memory.Exhausted = random.IntN(4), maybe()
	set(maybe(), func() { f.Pod.Protected = "critical" })
	set(maybe(), func() { f.Pod.Pinned = "its volume is there" })
	set(maybe(), func() { f.Pod.Gang = "g" })
	set(maybe(), func() { f.Node.Others = 0 })
	set(maybe(), func() { f.Workload.Recovering = noon.Add(time.Minute) })
	set(maybe(), func() { f.Workload.Recovered = noon })
	set(maybe(), func() { f.Workload.GangMoved = noon })
	set(maybe(), func() { f.Siblings = []Sibling{failing("b", row.Name), failing("c", row.Name)} })
	f.Match.Since = noon.Add(-time.Duration(random.IntN(20)) * time.Minute)
	return f
}

// TestReasonsAreThoseOfTheDecisions decides about anything: each reason comes up, and no other.
func TestReasonsAreThoseOfTheDecisions(t *testing.T) {
	for _, dry := range []bool{false, true} {
		for _, row := range signals.Default() {
			rules := Rules{Wellness: 2 * time.Minute, GangSettle: 2 * time.Minute, DryRun: dry}
			want, got := rules.Reasons(row), given(row, rules)
			slices.Sort(want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, dry run %t: %s", row.Name, dry, diff)
			}
		}
	}
}

// given are the reasons of many decisions about a row, sorted. A move may find its budget used up.
func given(row signals.Row, rules Rules) []string {
	random, found := rand.New(rand.NewPCG(1, 7)), map[string]bool{}
	for range 600 {
		d := Decide(anything(random, row, rules))
		found[d.Reason] = true
		if d.Moves() {
			found[LimitReached] = true
		}
	}
	delete(found, TooEarly)
	delete(found, TooLongAgo)
	return slices.Sorted(maps.Keys(found))
}
