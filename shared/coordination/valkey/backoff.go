package valkey

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	minPause   = 50 * time.Millisecond
	firstRange = 200 * time.Millisecond
)

// pause returns how long to wait before the given attempt (from 0) to reconnect. It uses full jitter over a range that doubles
// with each attempt, so that agents do not all reconnect to a restarted server at once.
func pause(attempt int, longest time.Duration, random func(n int64) int64) time.Duration {
	width := firstRange << min(attempt, 20)
	width = max(1, min(width, longest-minPause))
	return minPause + time.Duration(random(int64(width)))
}

// jittered returns a random duration between half of the interval and the whole interval.
func jittered(interval time.Duration) time.Duration {
	half := max(1, interval/2)
	return half + rand.N(half)
}

func sleep(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-ctx.Done()
}
