package simulation

import (
	"fmt"
	"strings"
)

// Shrink finds a smaller list of faults that breaks the same invariant. It removes halves, quarters and so on down to single
// faults as long as the invariant still breaks (delta debugging), then simplifies the remaining faults, and returns the history
// with its transcript.
func Shrink(r Result, mutant Mutant) Result {
	if r.Breach == nil {
		return r
	}
	fails := func(faults []Fault) bool {
		b := play(r.Seed, r.Shape, faults, mutant, false).Breach
		return b != nil && b.Invariant == r.Breach.Invariant
	}
	faults := leaveOut(r.Faults, fails)
	return play(r.Seed, r.Shape, simplify(faults, fails), mutant, true)
}

// leaveOut implements ddmin over complements.
func leaveOut(faults []Fault, fails func([]Fault) bool) []Fault {
	for parts := 2; len(faults) > 0; {
		size := (len(faults) + parts - 1) / parts
		reduced := false
		for from := 0; from < len(faults); from += size {
			rest := append(append([]Fault{}, faults[:from]...), faults[min(len(faults), from+size):]...)
			if fails(rest) {
				faults, reduced = rest, true
				break
			}
		}
		switch {
		case reduced:
			parts = max(2, parts-1)
		case size == 1:
			return faults
		default:
			parts = min(len(faults), 2*parts)
		}
	}
	return faults
}

// simplify reduces counts and durations as long as the invariant still breaks.
func simplify(faults []Fault, fails func([]Fault) bool) []Fault {
	for i := range faults {
		for _, change := range []func(*Fault){
			func(f *Fault) { f.Count = 1 },
			func(f *Fault) { f.For /= 4 },
			func(f *Fault) { f.For /= 2 },
		} {
			simpler := append([]Fault{}, faults...)
			change(&simpler[i])
			if simpler[i] != faults[i] && fails(simpler) {
				faults = simpler
			}
		}
	}
	return faults
}

// Report describes a failing history: the broken invariant, the required faults, how to reproduce it, and its transcript.
func (r Result) Report() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d of shape %q breaks %v\n\nrequired faults:\n", r.Seed, r.Shape.Name, r.Breach)
	for _, f := range r.Faults {
		fmt.Fprintf(&b, "  %s\n", f)
	}
	fmt.Fprintf(&b, "\nto reproduce: go run ./coordination/simulation/cmd/simulate -story -first %d\n", r.Seed)
	fmt.Fprintf(&b, "\nwhat happened:\n%s\n", lastLines(r.Transcript, 200))
	return b.String()
}

// lastLines shortens a long transcript by leaving out its middle.
func lastLines(s string, most int) string {
	lines := strings.Split(s, "\n")
	if len(lines) <= most {
		return s
	}
	head := lines[:most*3/4]
	tail := lines[len(lines)-most/4:]
	return strings.Join(head, "\n") + fmt.Sprintf("\n  ... %d lines ...\n", len(lines)-most) + strings.Join(tail, "\n")
}
