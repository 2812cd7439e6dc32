package simulation

import (
	"errors"
	"time"
)

// link is a program's network connection to the store, with all its faults.
type link struct {
	*world
	owner  *process
	node   *node // nil if the program is in the control plane
	random random
	far    bool // it reaches the second server while there are two primaries

	// pending faults
	loseRequests, loseReplies, duplicate, slow int
	slowness                                   time.Duration
	deaf, halfOpen                             time.Duration // until this time
}

var (
	errTimeout = errors.New("no answer in time")
	errRefused = errors.New("connection refused")
)

func newLink(w *world, owner *process, n *node, name string) *link {
	return &link{world: w, owner: owner, node: n, random: newRandom(w.seed, "link "+name), far: newRandom(w.seed, "side "+name).chance(40)}
}

// server returns the store that this program believes to be the primary.
func (l *link) server() *server {
	if l.store.second != nil && l.far {
		return l.store.second
	}
	return l.store.first
}

// cut reports whether all messages are lost without an error.
func (l *link) cut() bool { return (l.node != nil && l.node.cut) || l.now < l.halfOpen }

func (l *link) delay() time.Duration {
	d := l.random.between(200*time.Microsecond, 2*time.Millisecond)
	if take(&l.slow) {
		d += l.random.between(0, min(l.slowness, callTimeout))
	}
	return d
}

func take(n *int) bool {
	if *n > 0 {
		*n--
		return true
	}
	return false
}

// request delivers a call to the store and returns its answer, which may be a timeout. A call that was sent arrives even if its
// sender crashes.
func request[T any](l *link, serve func(*server) (T, error), answer func(T, error)) {
	var none T
	sent := l.now
	fail := func(err error, wait time.Duration) {
		l.owner.later(wait, func() { answer(none, err) })
	}
	late := func() time.Duration { return max(0, sent+callTimeout-l.now) }
	switch {
	case l.cut() || take(&l.loseRequests):
		fail(errTimeout, callTimeout)
		return
	case !l.server().up:
		fail(errRefused, l.delay())
		return
	}
	run := l.owner.run
	l.in(l.delay(), func() {
		s := l.server()
		if l.cut() || !s.up {
			fail(errTimeout, late())
			return
		}
		v, err := serve(s)
		if take(&l.duplicate) {
			l.in(l.random.between(time.Millisecond, time.Second), func() {
				if s.up && s == l.server() {
					s.repeats = true
					_, _ = serve(s)
					s.repeats = false
				}
			})
		}
		if l.owner.run != run {
			return
		}
		if d := l.delay(); !take(&l.loseReplies) && l.now+d < sent+callTimeout {
			l.owner.later(d, func() { answer(v, err) })
			return
		}
		fail(errTimeout, late())
	})
}
