package relay

import (
	"testing"
	"time"
)

func TestJoinsAreHeldUntilAllMembersHaveJoined(t *testing.T) {
	var h Hold
	due := func(now time.Time, want time.Time) {
		t.Helper()
		if got := h.Due(now, 3); !got.Equal(want) {
			t.Errorf("at %s, the joins are due at %s, want %s", now.Sub(start), got.Sub(start), want.Sub(start))
		}
	}
	at := func(d time.Duration) time.Time { return start.Add(d) }
	due(start, time.Time{})

	h.Joined(start, joinOf(0, 1))
	h.Joined(at(time.Millisecond), joinOf(1, 1))
	h.Joined(at(2*time.Millisecond), joinOf(1, 1)) // a member that repeats its join counts once
	due(at(3*time.Millisecond), at(holdLimit))
	h.Joined(at(4*time.Millisecond), joinOf(2, 1))
	due(at(4*time.Millisecond), at(4*time.Millisecond))
	h.Sent(at(4*time.Millisecond), false)
	due(at(time.Second), time.Time{})

	h.Joined(at(time.Second), joinOf(0, 2)) // joins of the previous round do not count
	due(at(time.Second), at(time.Second+holdLimit))
	h.Sent(at(time.Second+holdLimit), false)
	h.Joined(at(2*time.Second), joinOf(1, 2))
	due(at(2*time.Second), at(2*time.Second+holdLimit))
	h.Joined(at(2*time.Second), joinOf(2, 2)) // the last join of the round, after the first was sent
	due(at(2*time.Second), at(2*time.Second))
	h.Sent(at(2*time.Second), true) // what did not fit into the call is due immediately
	due(at(2*time.Second), at(2*time.Second))
}

func TestReleasedJoinsAreDueAtOnce(t *testing.T) {
	var h Hold
	h.Joined(start, joinOf(0, 1))
	h.Release(start)
	if got := h.Due(start, 3); !got.Equal(start) {
		t.Errorf("due at %s", got.Sub(start))
	}
}
