package group

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// unitKey determines which stages form a unit: those with the same step and release. A stage that others wait for is a unit of
// its own.
type unitKey struct {
	step    int64
	release coordination.Release
	alone   string
}

func keyOf(s coordination.Stage) unitKey {
	k := unitKey{step: s.Step, release: s.Release}
	if s.Release == coordination.ReleaseGate {
		k.alone = s.Prefix
	}
	return k
}

func compareKeys(a, b unitKey) int {
	return cmp.Or(cmp.Compare(a.step, b.step), cmp.Compare(a.release, b.release), cmp.Compare(a.alone, b.alone))
}

// layout is the division of a group's stages into units.
type layout struct {
	keys   []unitKey // in start order
	units  []rounds.Unit
	bounds []rounds.Bounds
}

// Fits returns an error if the stages form more units than a group can have.
func Fits(stages []coordination.Stage) error {
	_, err := layoutOf(stages)
	return err
}

// layoutOf divides stages into units. It returns an error if there are more units than a group can have.
func layoutOf(stages []coordination.Stage) (layout, error) {
	slots := map[unitKey]int64{}
	for _, s := range stages {
		slots[keyOf(s)] += s.Slots()
	}
	l := layout{keys: slices.SortedFunc(maps.Keys(slots), compareKeys)}
	if len(l.keys) > rounds.MaxUnits {
		return layout{}, fmt.Errorf("the stages have %d combinations of step and release; restarts in place support %d", len(l.keys), rounds.MaxUnits)
	}
	l.units = make([]rounds.Unit, len(l.keys))
	for u := len(l.keys) - 1; u >= 0; u-- {
		l.units[u] = rounds.Unit{Slots: slots[l.keys[u]], End: u + 1}
		if u+1 < len(l.keys) && l.keys[u+1].step == l.keys[u].step {
			l.units[u].End = l.units[u+1].End
		}
	}
	for _, s := range stages {
		u, _ := slices.BinarySearchFunc(l.keys, keyOf(s), compareKeys)
		l.bounds = append(l.bounds, rounds.Bounds{Stage: s, Unit: u})
	}
	slices.SortFunc(l.bounds, func(a, b rounds.Bounds) int { return cmp.Compare(a.Prefix, b.Prefix) })
	return l, nil
}
