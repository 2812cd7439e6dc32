package simulation

import (
	"os"
	"strconv"
	"testing"
)

// TestSeeds runs 2,000 histories. HOLDFAST_SEEDS sets a different number, and HOLDFAST_FIRST_SEED a different start.
func TestSeeds(t *testing.T) {
	first, seeds := setting(t, "HOLDFAST_FIRST_SEED", 0), setting(t, "HOLDFAST_SEEDS", 2_000)
	b := RunBatch(first, seeds, Shapes(), Mutant{})
	for _, r := range b.Broken {
		t.Error(Shrink(r, Mutant{}).Report())
	}
	t.Logf("%d seeds, %d faults, %d rounds, %d orders to stop, %d events", b.Seeds, b.Faults, b.Rounds, b.Orders, b.Events)
	if b.Orders < b.Seeds/10 {
		t.Errorf("%d orders in %d histories, so they test nothing", b.Orders, b.Seeds)
	}
}

func setting(t *testing.T, name string, normally uint64) uint64 {
	t.Helper()
	value := os.Getenv(name)
	if value == "" {
		return normally
	}
	n, err := strconv.ParseUint(value, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// Everything else in this package depends on this.
func TestSameSeedGivesSameHistory(t *testing.T) {
	for seed := range uint64(20) {
		shape := Shapes()[seed%uint64(len(Shapes()))]
		a, b := play(seed, shape, shape.draw(seed), Mutant{}, true), play(seed, shape, shape.draw(seed), Mutant{}, true)
		if a.Transcript != b.Transcript {
			t.Errorf("seed %d of %s differs from run to run", seed, shape.Name)
		}
	}
}
