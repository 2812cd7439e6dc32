// Package ready answers the kubelet's startup probe.
//
// The kubelet probes once per period, which is 10 s in the manifest of JobSet KEP-876, so each negative answer costs a
// full period. The agent therefore listens as early as possible, and holds each probe for up to Patience until it is
// ready.
package ready

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Patience is how long a request waits. The kubelet's default timeout is 1 s.
const Patience = 900 * time.Millisecond

// Gate answers probes once it is open. The zero value is not usable; call New.
type Gate struct {
	reason atomic.Pointer[string]
	open   sync.Once
	opened chan struct{}
}

// New returns a closed gate. reason says what it is waiting for.
func New(reason string) *Gate {
	g := &Gate{opened: make(chan struct{})}
	g.Wait(reason)
	return g
}

// Wait changes the reason why the gate is closed. An open gate stays open, because a startup probe is not repeated.
func (g *Gate) Wait(reason string) { g.reason.Store(&reason) }

// Open opens the gate permanently.
func (g *Gate) Open() { g.open.Do(func() { close(g.opened) }) }

// ServeHTTP implements http.Handler. It responds with 200 once the gate is open, or with 503 and the reason after
// Patience.
func (g *Gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case <-g.opened:
		fmt.Fprintln(w, "ready")
	case <-r.Context().Done():
	case <-time.After(Patience):
		http.Error(w, "not ready: "+*g.reason.Load(), http.StatusServiceUnavailable)
	}
}
