package app

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// probePatience is how long a request waits. The kubelet's default timeout is 1 s.
const probePatience = 900 * time.Millisecond

// gate answers the kubelet's startup probe once it is open. The kubelet probes once per period, which is 10 s in the
// manifest of JobSet KEP-876, so each negative answer costs a full period. The agent therefore listens as early as
// possible, and holds each probe for up to probePatience until it is ready.
type gate struct {
	reason atomic.Pointer[string]
	open   sync.Once
	opened chan struct{}
}

// newGate returns a closed gate. reason says what it is waiting for.
func newGate(reason string) *gate {
	g := &gate{opened: make(chan struct{})}
	g.report(reason)
	return g
}

// report changes the reason why the gate is closed, or opens the gate if the reason is empty. An open gate stays open,
// because a startup probe is not repeated.
func (g *gate) report(reason string) {
	g.reason.Store(&reason)
	if reason == "" {
		g.open.Do(func() { close(g.opened) })
	}
}

// ServeHTTP responds with 200 once the gate is open, or with 503 and the reason after probePatience.
func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case <-g.opened:
		fmt.Fprintln(w, "ready")
	case <-r.Context().Done():
	case <-time.After(probePatience):
		http.Error(w, "not ready: "+*g.reason.Load(), http.StatusServiceUnavailable)
	}
}
