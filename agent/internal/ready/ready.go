// Package ready answers the kubelet's startup probe.
//
// The kubelet probes once per period, which is 10 s with the manifest of seed 000. So a probe must find a listener as
// early as can be, and is held up to Patience for the agent to become ready: a "not yet" costs a whole period.
package ready

import (
	"fmt"
	"net/http"
	"sync"
	"time"
)

// Patience is how long a request waits. The kubelet's default time-out is 1 s.
const Patience = 900 * time.Millisecond

// Gate is what the agent is waiting for. The zero value is not usable; call New.
type Gate struct {
	mu     sync.Mutex
	reason string
	opened chan struct{}
}

// New returns a closed gate; reason says what it waits for.
func New(reason string) *Gate { return &Gate{reason: reason, opened: make(chan struct{})} }

// Wait changes the reason for being closed. An open gate stays open: the probe is for the start.
func (g *Gate) Wait(reason string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reason = reason
}

// Open opens the gate for good.
func (g *Gate) Open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.opened:
	default:
		close(g.opened)
	}
}

// ServeHTTP implements http.Handler: 200 once the gate is open, 503 with the reason if that takes too long.
func (g *Gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	late := time.NewTimer(Patience)
	defer late.Stop()
	select {
	case <-g.opened:
		fmt.Fprintln(w, "ready")
	case <-r.Context().Done():
	case <-late.C:
		g.mu.Lock()
		reason := g.reason
		g.mu.Unlock()
		http.Error(w, "not ready: "+reason, http.StatusServiceUnavailable)
	}
}
