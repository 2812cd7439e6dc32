package app

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func ask(g *gate) (*httptest.ResponseRecorder, time.Duration) {
	start := time.Now()
	w := httptest.NewRecorder()
	g.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/ready", nil))
	return w, time.Since(start)
}

func TestTheFirstRequestWaitsForTheAgent(t *testing.T) {
	g := newGate("the runtime")
	time.AfterFunc(50*time.Millisecond, func() { g.report("") })
	w, took := ask(g)
	if w.Code != http.StatusOK || took < 50*time.Millisecond || took > probePatience {
		t.Errorf("answered %d after %v", w.Code, took)
	}
}

func TestAClosedGateRespondsWithItsReason(t *testing.T) {
	g := newGate("the runtime")
	g.report("the socket")
	w, took := ask(g)
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "the socket") {
		t.Errorf("answered %d %q", w.Code, w.Body)
	}
	if took >= time.Second {
		t.Errorf("took %v: the kubelet gives up after 1s", took)
	}
}

func TestAnOpenGateStaysOpen(t *testing.T) {
	g := newGate("the runtime")
	g.report("")
	g.report("")
	g.report("the socket")
	if w, took := ask(g); w.Code != http.StatusOK || took > 100*time.Millisecond {
		t.Errorf("answered %d after %v", w.Code, took)
	}
}
