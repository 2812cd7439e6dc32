package orchestrator

import (
	"time"

	"k8s.io/utils/clock"
)

// turnFor is how long one kind of work may begin calls of the API server in one look. A server that hears of a whole group's restart takes
// half a second for each, and what else the look has to do, and the other groups, wait for the end of it.
const turnFor = time.Second

// turn is the time of one kind of work in one look. It has begun with its first call, so that every look gets on.
type turn struct {
	clock clock.PassiveClock
	until time.Time
}

func (r *Reconciler) turn() turn { return turn{r.Clock, r.Clock.Now().Add(turnFor)} }

// over tells whether the rest is for the next look, and asks for that at once.
func (t turn) over(s *scope) bool {
	if !t.spent() {
		return false
	}
	s.lookIn(time.Millisecond)
	return true
}

// spent tells whether it is over; the next look comes when it comes.
func (t turn) spent() bool { return !t.clock.Now().Before(t.until) }
