package relay

import (
	"slices"
	"time"
)

// How long a member waits before it leaves its relay. The limits are long, because leaving costs a new connection to the store, and all
// members of a relay leave together. A relay that hangs is also a worker that hangs, so a restart waits for its replacement anyway.
const (
	busyPing    = time.Second      // silence before a ping during a restart, which the relay reports, and while a request is unanswered
	pongLimit   = 6 * time.Second  // from a ping to the next message
	answerLimit = 20 * time.Second // for a relay that answers pings but no requests
	resyncLimit = 45 * time.Second // a relay reads and forwards the level at least every 30 s, so pings are not needed at rest
	outageLimit = 15 * time.Second // for a store outage reported by the relay; members wait at least a third of this
)

// Link is what a member knows about the connection to its relay. It decides when to send a ping and when to leave the relay. It
// is not safe for concurrent use.
type Link struct {
	heard      time.Time // time of the last message
	synced     time.Time // time of the last message with a level that the relay has read
	pinged     time.Time // time of the unanswered ping; zero if there is none
	asked      time.Time // time of the first request since the last answer; zero if no request is unanswered
	outage     time.Time // when to leave if the store outage continues; zero if there is no outage
	restarting bool
}

// Verdict is what a member does about its relay.
type Verdict int

const (
	Stay  Verdict = iota
	Ping          // send a ping
	Leave         // use the store
)

// NewLink returns the link for a member that has just connected.
func NewLink(now time.Time) *Link { return &Link{heard: now, synced: now} }

// Heard records a message of any kind.
func (l *Link) Heard(now time.Time) { l.heard, l.pinged = now, time.Time{} }

// Told records a level. If read is true, the relay has read the level, so the store is reachable.
func (l *Link) Told(now time.Time, restarting, read bool) {
	l.restarting = restarting
	if read {
		l.synced, l.outage = now, time.Time{}
	}
}

// StoreLost records that the relay cannot reach the store. The relay is usually the first to reach it again, so members keep
// waiting for a randomized time. random is between 0 and 1.
func (l *Link) StoreLost(now time.Time, random float64) {
	if l.outage.IsZero() {
		l.outage = now.Add(outageLimit/3 + time.Duration(random*float64(outageLimit*2/3)))
	}
}

// Requested records a request that the relay must answer.
func (l *Link) Requested(now time.Time) {
	if l.asked.IsZero() {
		l.asked = now
	}
}

// Answered records an answer. more reports whether other requests are unanswered.
func (l *Link) Answered(now time.Time, more bool) {
	l.asked = time.Time{}
	if more {
		l.asked = now
	}
}

// Check decides what to do now, and when to check again.
func (l *Link) Check(now time.Time) (v Verdict, next time.Time) {
	leave := l.synced.Add(resyncLimit)
	if !l.outage.IsZero() {
		leave = l.outage
	}
	ping := leave
	if l.restarting {
		ping = earlier(ping, l.heard.Add(busyPing))
	}
	if !l.asked.IsZero() {
		leave = earlier(leave, l.asked.Add(answerLimit))
		ping = earlier(ping, later(l.heard, l.asked).Add(busyPing))
	}
	if !l.pinged.IsZero() {
		leave = earlier(leave, l.pinged.Add(pongLimit))
		ping = leave
	}
	switch {
	case !now.Before(leave):
		return Leave, now
	case !now.Before(ping):
		l.pinged = now
		return Ping, earlier(leave, now.Add(pongLimit))
	}
	return Stay, earlier(leave, ping)
}

func earlier(a, b time.Time) time.Time { return slices.MinFunc([]time.Time{a, b}, time.Time.Compare) }

func later(a, b time.Time) time.Time { return slices.MaxFunc([]time.Time{a, b}, time.Time.Compare) }

// Back returns how long a member without a relay connection uses the store before it tries to find its relay again. random is
// between 0 and 1.
func Back(random float64) time.Duration {
	return 30*time.Second + time.Duration(random*float64(30*time.Second))
}
