// Command simulate plays seeded histories of the group protocol: many, to see how many break an invariant and how fast it
// goes, or one, to read its story.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/simulation"
)

func main() {
	seeds := flag.Uint64("seeds", 20_000, "how many histories")
	first := flag.Uint64("first", 0, "the first seed")
	story := flag.Bool("story", false, "tell the story of the first seed")
	flag.Parse()
	if *story {
		fmt.Println(simulation.Tell(*first))
		return
	}
	if !play(*first, *seeds) {
		os.Exit(1)
	}
}

// play runs the histories and prints what came out.
func play(first, seeds uint64) bool {
	begun := time.Now()
	b := simulation.RunBatch(first, seeds, simulation.Shapes(), simulation.Mutant{})
	took := time.Since(begun)
	for _, r := range b.Broken {
		fmt.Println(simulation.Shrink(r, simulation.Mutant{}).Report())
	}
	fmt.Printf("%d histories in %s, %.0f seeds/s: %d broke an invariant\n", b.Seeds, took.Round(time.Second),
		float64(b.Seeds)/took.Seconds(), len(b.Broken))
	fmt.Printf("%d faults, %d rounds, %d orders to stop, %d events; %d histories needed an operator\n", b.Faults, b.Rounds,
		b.Orders, b.Events, b.Helped)
	return len(b.Broken) == 0
}
