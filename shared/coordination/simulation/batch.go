package simulation

import (
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Batch is the sum of many histories.
type Batch struct {
	Seeds, Faults, Orders, Given, Rounds, Events int64
	Broken                                       []Result // the first few, in no particular order
}

const enough = 5

// RunBatch runs the seeds beginning with first, spread over the shapes, on all processors.
func RunBatch(first, seeds uint64, shapes []Shape, mutant Mutant) Batch {
	defer debug.SetGCPercent(debug.SetGCPercent(800)) // a history is small and soon garbage
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

// Merge adds up two batches.
func (b *Batch) Merge(other Batch) {
	b.Seeds += other.Seeds
	b.Faults += other.Faults
	b.Orders += other.Orders
	b.Given += other.Given
	b.Rounds += other.Rounds
	b.Events += other.Events
	b.Broken = append(b.Broken, other.Broken...)
}

// add counts one history. It reports whether there are enough broken ones.
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

// shapeOf spreads the seeds over the shapes.
func shapeOf(seed uint64, shapes []Shape) Shape { return shapes[seed%uint64(len(shapes))] }

// ShapesOf returns the shapes whose names contain a text.
func ShapesOf(text string) []Shape {
	return slices.DeleteFunc(Shapes(), func(s Shape) bool { return !strings.Contains(s.Name, text) })
}

// Tell returns the transcript of a seed, which is spread over the shapes. If the seed breaks an invariant, it is that of the smallest history
// that still does.
func Tell(seed uint64, shapes []Shape) string {
	r := Run(seed, shapeOf(seed, shapes), Mutant{})
	if r.Breach != nil {
		return Shrink(r, Mutant{}).Report()
	}
	return play(seed, r.Shape, r.Faults, Mutant{}, true).Transcript
}
