package replace

import "time"

// Pace is how often a slot has got a new pod from the leader in one round. Most rounds need none or one. A pod that ends again
// before its slot has joined is made again later and later: it costs no restart, so nothing else would end that.
type Pace struct {
	Made int
	Last time.Time
}

const (
	firstPause = time.Second
	maxPause   = 30 * time.Second
)

// Due is when the next pod may be made: the first at once, then after 1 s, 2 s, 4 s, at most 30 s.
func (p Pace) Due() time.Time {
	if p.Made == 0 {
		return time.Time{}
	}
	pause := firstPause
	for n := 1; n < p.Made && pause < maxPause; n++ {
		pause *= 2
	}
	return p.Last.Add(min(pause, maxPause))
}
