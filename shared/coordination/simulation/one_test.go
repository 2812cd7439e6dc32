package simulation

import (
	"strings"
	"testing"
)

// TestOneSeed tells the story of HOLDFAST_SEED, shrunk if it is a broken one.
func TestOneSeed(t *testing.T) {
	seed := setting(t, "HOLDFAST_SEED", 0)
	if seed == 0 {
		t.Skip("set HOLDFAST_SEED")
	}
	shapes := Shapes()
	shape := shapes[seed%uint64(len(shapes))]
	r := Run(seed, shape, Mutant{})
	if r.Breach != nil {
		t.Fatal(Shrink(r, Mutant{}).Report())
	}
	t.Log(strings.TrimRight(play(seed, shape, r.Faults, Mutant{}, true).Transcript, "\n"))
}
