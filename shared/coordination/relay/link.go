package relay

import "time"

// What a member waits for before it leaves its relay. A relay that answers pings is slow but alive, so its members do not all leave
// it at once.
const (
	restPing    = 10 * time.Second // silence before a ping while nothing is expected
	restartPing = time.Second      // the same while a restart is in progress, whose end the relay reports
	requestPing = 500 * time.Millisecond
	pongLimit   = 2 * time.Second // from a ping to the next message
	urgentLimit = 500 * time.Millisecond
	// RequestLimit is how long a relay that answers pings may take for a request. It is shorter than the agent's timeout of a call,
	// which then goes to the store.
	RequestLimit = 2 * time.Second
	resyncLimit  = 45 * time.Second // a relay reads the level at least every 30 s, and reports it
	outageLimit  = 15 * time.Second // of the store, as the relay reports it; at least a third of that
)

// Link is what a member knows about the connection to its relay. It decides when the member asks for a sign of life, and when it
// leaves. It is not safe for concurrent use.
type Link struct {
	heard      time.Time // the last message
	synced     time.Time // the last message with a level that the relay has read
	pinged     time.Time // the ping without an answer; zero if there is none
	requests   []time.Time
	outage     time.Time // end of the patience with the store's outage; zero if there is none
	restarting bool
}

// Verdict is what a member does about its relay.
type Verdict int

// The verdicts.
const (
	Stay  Verdict = iota
	Ping          // send a ping
	Leave         // use the store
)

// NewLink returns the link of a member that is connected.
func NewLink(now time.Time) *Link { return &Link{heard: now, synced: now} }

// Heard notes a message of any kind.
func (l *Link) Heard(now time.Time) { l.heard, l.pinged = now, time.Time{} }

// Told notes a level. read: the relay has read it, so the store is reachable.
func (l *Link) Told(now time.Time, restarting, read bool) {
	l.restarting = restarting
	if read {
		l.synced, l.outage = now, time.Time{}
	}
}

// StoreLost notes that the relay cannot reach the store. The relay is usually the first that can again, so the members wait for it,
// for times that differ. random is between 0 and 1.
func (l *Link) StoreLost(now time.Time, random float64) {
	if l.outage.IsZero() {
		l.outage = now.Add(outageLimit/3 + time.Duration(random*float64(outageLimit*2/3)))
	}
}

// Requested notes a request that the relay has to answer.
func (l *Link) Requested(now time.Time) { l.requests = append(l.requests, now) }

// Answered notes the answer to a request that was made at a time.
func (l *Link) Answered(requested time.Time) {
	for i, at := range l.requests {
		if at.Equal(requested) {
			l.requests = append(l.requests[:i:i], l.requests[i+1:]...)
			return
		}
	}
}

// Check decides what to do now, and when to check again.
func (l *Link) Check(now time.Time) (v Verdict, next time.Time) {
	leave := l.synced.Add(resyncLimit)
	if !l.outage.IsZero() {
		leave = l.outage
	}
	ping, limit := l.heard.Add(restPing), pongLimit
	if l.restarting {
		ping = l.heard.Add(restartPing)
	}
	if len(l.requests) > 0 {
		leave = earlier(leave, l.requests[0].Add(RequestLimit))
		ping, limit = earlier(ping, later(l.heard, l.requests[0]).Add(requestPing)), urgentLimit
	}
	if !l.pinged.IsZero() {
		leave, ping = earlier(leave, l.pinged.Add(limit)), leave
	}
	switch {
	case !now.Before(leave):
		return Leave, now
	case !now.Before(ping):
		l.pinged = now
		return Ping, earlier(leave, now.Add(limit))
	}
	return Stay, earlier(leave, ping)
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Back returns how long a member that has left its relay, or has found none, uses the store before it looks for the relay again.
// random is between 0 and 1.
func Back(random float64) time.Duration {
	return 30*time.Second + time.Duration(random*float64(30*time.Second))
}
