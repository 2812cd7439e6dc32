package simulation

import (
	"math/rand/v2"
	"time"
)

// random is the random stream of one actor. Each actor has its own stream, so that leaving a fault out of a history changes the
// choices of the others as little as possible. Shrinking depends on that.
type random struct{ *rand.Rand }

func newRandom(seed uint64, actor string) random {
	hash := uint64(14695981039346656037)
	for i := range len(actor) {
		hash = (hash ^ uint64(actor[i])) * 1099511628211
	}
	return random{rand.New(rand.NewPCG(seed, hash))}
}

// between returns a random duration from low to high, inclusive.
func (r random) between(low, high time.Duration) time.Duration {
	return low + time.Duration(r.Int64N(int64(high-low)+1))
}

// chance returns true with the given probability in percent.
func (r random) chance(percent int) bool { return r.IntN(100) < percent }
