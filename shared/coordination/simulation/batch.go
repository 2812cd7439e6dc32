package simulation

import (
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Batch holds the combined results of many histories.
type Batch struct {
	Seeds, Faults, Orders, Given, Rounds, Events int64
	Broken                                       []Result // the first few histories that broke an invariant, in no particular order
}

const enough = 5

// RunBatch runs the given number of seeds, starting with first, spread over the shapes. It uses all CPUs.
func RunBatch(first, seeds uint64, shapes []Shape, mutant Mutant) Batch {
	defer debug.SetGCPercent(debug.SetGCPercent(800)) // a history is small and soon becomes garbage
	var next atomic.Uint64
	var mu sync.Mutex
	var all sync.WaitGroup
	var b Batch
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for {
				n := next.Add(1) - 1
				if n >= seeds {
					return
				}
				r := Run(first+n, shapeOf(first+n, shapes), mutant)
				mu.Lock()
				done := b.add(r)
				mu.Unlock()
				if done {
					next.Store(seeds)
				}
			}
		})
	}
	all.Wait()
	return b
}

// Merge adds the results of another batch.
func (b *Batch) Merge(other Batch) {
	b.Seeds += other.Seeds
	b.Faults += other.Faults
	b.Orders += other.Orders
	b.Given += other.Given
	b.Rounds += other.Rounds
	b.Events += other.Events
	b.Broken = append(b.Broken, other.Broken...)
}

// add adds the result of a history. It reports whether enough histories have broken an invariant.
func (b *Batch) add(r Result) bool {
	b.Seeds++
	b.Faults += int64(len(r.Faults))
	b.Orders += int64(r.Orders)
	b.Given += int64(r.Given)
	b.Rounds += r.Rounds
	b.Events += int64(r.Events)
	if r.Breach != nil {
		b.Broken = append(b.Broken, r)
	}
	return len(b.Broken) >= enough
}

// shapeOf returns the shape of a seed. It spreads the seeds over the shapes.
func shapeOf(seed uint64, shapes []Shape) Shape { return shapes[seed%uint64(len(shapes))] }

// ShapesOf returns the shapes with names that contain text.
func ShapesOf(text string) []Shape {
	return slices.DeleteFunc(Shapes(), func(s Shape) bool { return !strings.Contains(s.Name, text) })
}

// Tell returns the transcript of a seed's history. If the history breaks an invariant, Tell returns a report with the transcript of the
// smallest history found that still breaks it.
func Tell(seed uint64, shapes []Shape) string {
	r := Run(seed, shapeOf(seed, shapes), Mutant{})
	if r.Breach != nil {
		return Shrink(r, Mutant{}).Report()
	}
	return play(seed, r.Shape, r.Faults, Mutant{}, true).Transcript
}
