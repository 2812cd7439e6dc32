// Command simulate runs seeded histories of the group protocol. It either runs many, to count how many break an invariant and how
// many run per second, or prints the transcript of one.
package main

import (
	"flag"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/simulation"
)

func main() {
	seeds := flag.Uint64("seeds", 20_000, "number of histories to run")
	first := flag.Uint64("first", 0, "the first seed")
	only := flag.String("shapes", "", "run only shapes with names that contain this text")
	story := flag.Bool("story", false, "print the transcript of the first seed")
	flag.Parse()
	if *story {
		fmt.Println(simulation.Tell(*first, simulation.ShapesOf(*only)))
		return
	}
	if !play(*first, *seeds, simulation.ShapesOf(*only)) {
		os.Exit(1)
	}
}

// portion is the number of histories between two progress lines.
const portion = 50_000

// play runs the histories, reports progress, and prints the result.
func play(first, seeds uint64, shapes []simulation.Shape) bool {
	begun := time.Now()
	var all simulation.Batch
	for played := uint64(0); played < seeds; played += portion {
		b := simulation.RunBatch(first+played, min(portion, seeds-played), shapes, simulation.Mutant{})
		for _, r := range b.Broken {
			fmt.Println(simulation.Shrink(r, simulation.Mutant{}).Report())
		}
		all.Merge(b)
		fmt.Fprintf(os.Stderr, "%d histories, %.0f seeds/s, %d broke an invariant\n", all.Seeds, rate(all, begun), len(all.Broken))
	}
	fmt.Printf("%d histories in %s, %.0f seeds/s, %.0f per second of CPU: %d broke an invariant\n", all.Seeds,
		time.Since(begun).Round(time.Second), rate(all, begun), float64(all.Seeds)/cpuTime().Seconds(), len(all.Broken))
	fmt.Printf("%d faults, %d rounds, %d orders to stop, %d slots assigned to spares, %d events\n", all.Faults, all.Rounds,
		all.Orders, all.Given, all.Events)
	return len(all.Broken) == 0
}

// cpuTime returns the CPU time that the process has used so far.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage) // cannot fail for the current process
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func rate(b simulation.Batch, since time.Time) float64 {
	return float64(b.Seeds) / time.Since(since).Seconds()
}
