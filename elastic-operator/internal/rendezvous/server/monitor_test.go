package server

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/tcpstore"
)

const stateKey = "/torch.rendezvous.uid"

// written returns a state as torch would write it, with four participants in round 300.
func written(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "state", "testdata", name+"-4.pickle"))
	if err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(b)
}

func TestStatus(t *testing.T) {
	w := start(t, nil)
	if got := strings.TrimSpace(w.page("/status")); got != `{"round":0,"complete":false,"participants":0,"waiting":0,"closed":false}` {
		t.Errorf("before the first agent connected: %s", got)
	}
	c := w.client(tcpstore.Classic)
	c.set(stateKey, written(t, "running"))
	c.get(stateKey)
	j := w.job()
	if j.Round != 300 || j.Participants != 4 || j.Waiting != 1 || !j.Complete || j.Closed {
		t.Errorf("%+v", j)
	}
	for _, line := range []string{"participants 4", "waiting_nodes 1", "rounds_total 1"} {
		if !strings.Contains(w.page("/metrics"), "holdfast_rendezvous_"+line+"\n") {
			t.Errorf("no %q among the metrics:\n%s", line, w.page("/metrics"))
		}
	}
	w.page("/healthz")
}

func TestStatusIsThatOfTheLatestRun(t *testing.T) {
	w := start(t, nil)
	c := w.client(tcpstore.Classic)
	c.set(stateKey+"-1-1", written(t, "joining"))
	c.set(stateKey, written(t, "running"))
	c.get(stateKey)
	if j := w.job(); j.Participants != 4 {
		t.Errorf("%+v", j)
	}
	c.set(stateKey+"-1-1", written(t, "running"))
	c.set(stateKey+"-1-1", written(t, "joining"))
	c.get(stateKey + "-1-1")
	if j := w.job(); j.Participants != 1 {
		t.Errorf("after the other run changed: %+v", j)
	}
}

func TestUnreadableStateIsServed(t *testing.T) {
	w := start(t, nil)
	c := w.client(tcpstore.Classic)
	c.set(stateKey, "!")
	if got := c.get(stateKey); got != "!" || w.job().Message == "" {
		t.Errorf("%q, %+v", got, w.job())
	}
	c.set(stateKey, written(t, "running"))
	c.get(stateKey)
	if j := w.job(); j.Message != "" || j.Participants != 4 {
		t.Errorf("%+v", j)
	}
}

// ends writes the key of a terminated agent.
func (w *world) ends(rank int) {
	w.Helper()
	c, name := w.client(tcpstore.Classic), fmt.Sprintf("%s.300/torchelastic/agent/terminal_state%d", stateKey, rank)
	c.set(name, "x")
	c.get(name)
}

func (w *world) closes() {
	w.Helper()
	c := w.client(tcpstore.Classic)
	c.set(stateKey, written(w, "closed"))
	c.get(stateKey)
}

func (w *world) state() string {
	w.Helper()
	return w.client(tcpstore.Classic).get(stateKey)
}

func TestRendezvousClosedByALeavingAgentIsReopened(t *testing.T) {
	w := start(t, func(config *Config) { config.Grace = time.Hour })
	w.ends(0)
	w.closes()
	w.until("the rendezvous is open", func() bool { return !w.job().Closed })
	if got, want := w.state(), written(t, "running"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if !strings.Contains(w.page("/metrics"), `opened_total{reason="left"} 1`) {
		t.Error("the metrics do not report the reopening")
	}
}

func TestRendezvousStaysClosedForTheGracePeriodAfterAllAgentsTerminated(t *testing.T) {
	w := start(t, func(config *Config) { config.Grace = time.Hour })
	for rank := range 4 {
		w.ends(rank)
	}
	w.closes()
	w.until("the rendezvous is closed", func() bool { return w.job().Closed })
	w.server.mu.Lock()
	at, _ := w.server.reopening("uid", w.server.runs["uid"])
	w.server.mu.Unlock()
	if wait := time.Until(at); wait < 50*time.Minute {
		t.Errorf("the rendezvous is reopened in %v", wait)
	}
}

func TestRendezvousIsReopenedAfterTheGracePeriod(t *testing.T) {
	w := start(t, nil)
	for rank := range 4 {
		w.ends(rank)
	}
	w.closes()
	w.until("the rendezvous is open", func() bool { return strings.Contains(w.page("/metrics"), `opened_total{reason="not_done"} 1`) })
	if got := w.state(); got != written(t, "running") {
		t.Errorf("got %s", got)
	}
}

func TestKeysOfOldRoundsAreRemoved(t *testing.T) {
	w := start(t, nil)
	c := w.client(tcpstore.Classic)
	for _, round := range []int{0, 297, 298, 299, 300} {
		c.set(fmt.Sprintf("/torch.rendezvous.uid.%d/k", round), "1")
	}
	c.set(stateKey, written(t, "running"))
	c.get(stateKey)
	w.server.mu.Lock()
	left := len(w.server.store.values)
	w.server.mu.Unlock()
	if left != 4 { // 298, 299, 300 and the state
		t.Errorf("%d keys are left", left)
	}
}

// Each in-place restart has its own run. The keys of earlier runs must not use up the store's limits.
func TestRunsOfEarlierRestartsAreRemoved(t *testing.T) {
	w := start(t, nil)
	c := w.client(tcpstore.Classic)
	const restarts = 6
	for i := range restarts {
		c.set(fmt.Sprintf("%s-1-%d", stateKey, i), written(t, "running"))
		c.set(fmt.Sprintf("/torch.rendezvous.uid-1-%d.300/k", i), "1")
		c.get(fmt.Sprintf("/torch.rendezvous.uid-1-%d.300/k", i))
	}
	w.server.mu.Lock()
	keys, views := len(w.server.store.values), len(w.server.runs)
	w.server.mu.Unlock()
	if keys != 2*keptRuns || views != keptRuns {
		t.Errorf("%d keys and %d runs are left", keys, views)
	}
	if got := c.get(fmt.Sprintf("/torch.rendezvous.uid-1-%d.300/k", restarts-1)); got != "1" {
		t.Errorf("the last run's key is %q", got)
	}
}
