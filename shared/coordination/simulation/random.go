package simulation

import (
	"math/rand/v2"
	"time"
)

// random is the chance of one actor. Each has a stream of its own, so that a fault left out of a history changes what
// others draw as little as possible: that is what lets a failing history shrink.
type random struct{ *rand.Rand }

func newRandom(seed uint64, actor string) random {
	hash := uint64(14695981039346656037)
	for i := range len(actor) {
		hash = (hash ^ uint64(actor[i])) * 1099511628211
	}
	return random{rand.New(rand.NewPCG(seed, hash))}
}

// between draws a duration, both ends included.
func (r random) between(low, high time.Duration) time.Duration {
	return low + time.Duration(r.Int64N(int64(high-low)+1))
}

// chance is true in so many of a hundred cases.
func (r random) chance(percent int) bool { return r.IntN(100) < percent }
