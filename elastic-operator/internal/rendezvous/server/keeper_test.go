package server

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/jobs"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/tcpstore"
)

const stateKey = "/torch.rendezvous.uid"

// written is a state as torch would write it, of four participants in round 300.
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
	if got := strings.TrimSpace(w.page("/status")); got != `{"jobs":{"ns/job":{"round":0,"complete":false,"participants":0,"waiting":0,"closed":false}}}` {
		t.Errorf("before anybody came: %s", got)
	}
	c := w.client(tcpstore.Classic)
	c.set(stateKey, written(t, "running"))
	c.get(stateKey)
	j := w.job()
	if j.Protocol != "c10d" || j.Round != 300 || j.Participants != 4 || j.Waiting != 1 || j.Spare != 1 || !j.Complete || j.Closed {
		t.Errorf("%+v", j)
	}
	if len(j.Nodes) != 4 || j.Nodes[3] != (NodeStatus{"10.88.0.3_7_0", 3}) || len(j.WaitingNodes) != 1 || j.LastChange == nil {
		t.Errorf("%+v", j)
	}
	for _, line := range []string{"participants 4", "waiting_nodes 1", "closed 0", "rounds_total 1", "keys 1"} {
		if !strings.Contains(w.page("/metrics"), "holdfast_rendezvous_"+line+"\n") {
			t.Errorf("no %q among the metrics:\n%s", line, w.page("/metrics"))
		}
	}
	w.page("/healthz")
}

func TestTheStatusIsThatWhichChangedLast(t *testing.T) {
	w := start(t, nil)
	c := w.client(tcpstore.Classic)
	c.set(stateKey, written(t, "running"))
	c.get(stateKey)
	w.put(run+"/rdzv/active_version", "value", `{"status":"final","version":"2","participants":[0,1,2],"num_workers_waiting":0}`)
	if j := w.job(); j.Protocol != "etcd" || j.Round != 2 || j.Participants != 3 {
		t.Errorf("%+v", j)
	}
	w.etcd("DELETE", "/v2/keys"+run+"/rdzv/active_version", nil)
	if j := w.job(); j.Round != 2 || j.Participants != 0 {
		t.Errorf("after the state was deleted: %+v", j)
	}
}

func TestAStateThatCannotBeReadIsServedAllTheSame(t *testing.T) {
	w := start(t, nil)
	c := w.client(tcpstore.Classic)
	c.set(stateKey, "!")
	if got := c.get(stateKey); got != "!" || !w.job().Unreadable {
		t.Errorf("%q, %+v", got, w.job())
	}
	c.set(stateKey, written(t, "running"))
	c.get(stateKey)
	if j := w.job(); j.Unreadable || j.Participants != 4 {
		t.Errorf("%+v", j)
	}
}

// closing is a rendezvous that an agent closes, over each protocol.
type closing struct {
	protocol jobs.Protocol
	close    func(*world) // and say who has ended
	ended    func(w *world, rank int)
	state    func(*world) string
	open     string
}

func closings(t *testing.T) []closing {
	legacy := func(status string) string {
		return fmt.Sprintf(`{"keep_alives":["a"],"num_workers_waiting":0,"participants":[0,1,2,3],"status":%q,"version":"300"}`, status)
	}
	read := func(path string) func(*world) string {
		return func(w *world) string {
			_, reply := w.etcd("GET", "/v2/keys"+path, nil)
			b, _ := json.Marshal(reply["node"])
			var node struct{ Value string }
			_ = json.Unmarshal(b, &node)
			return node.Value
		}
	}
	encode := func(name string) string { return base64.StdEncoding.EncodeToString([]byte(name)) }
	terminal := func(rank int) string { return fmt.Sprintf("torchelastic/agent/terminal_state%d", rank) }
	statePath := "/torch/elastic/rendezvous/uid"
	return []closing{
		{
			jobs.C10d,
			func(w *world) {
				c := w.client(tcpstore.Classic)
				c.set(stateKey, written(t, "closed"))
				c.get(stateKey)
			},
			func(w *world, rank int) {
				c := w.client(tcpstore.Classic)
				c.set("/torch.rendezvous.uid.300/"+terminal(rank), "x")
				c.get("/torch.rendezvous.uid.300/" + terminal(rank))
			},
			func(w *world) string { return w.client(tcpstore.Classic).get(stateKey) },
			written(t, "running"),
		},
		{
			jobs.EtcdV2,
			func(w *world) { w.put(statePath, "value", written(t, "closed"), "ttl", "7200") },
			func(w *world, rank int) {
				w.put(jobs.StoreFolder+"/"+encode("torch.rendezvous.uid.300/"+terminal(rank)), "value", "x")
			},
			read(statePath),
			written(t, "running"),
		},
		{
			jobs.Etcd,
			func(w *world) { w.put(run+"/rdzv/active_version", "value", legacy("closed")) },
			func(w *world, rank int) { w.put(run+"/rdzv/v_300/kv/"+encode(terminal(rank)), "value", "x") },
			read(run + "/rdzv/active_version"),
			legacy("final"),
		},
	}
}

func TestARendezvousThatALeavingAgentClosesIsOpened(t *testing.T) {
	for _, c := range closings(t) {
		t.Run(string(c.protocol), func(t *testing.T) {
			w := start(t, func(config *Config) { config.Healing.Grace = time.Hour })
			c.ended(w, 0)
			c.close(w)
			w.until("it is open", func() bool { return !w.job().Closed })
			if got := c.state(w); got != c.open {
				t.Errorf("got  %s\nwant %s", got, c.open)
			}
			if w.job().LastOpened == nil || !strings.Contains(w.page("/metrics"), `opened_total{reason="left"} 1`) {
				t.Errorf("it is not told: %+v", w.job())
			}
		})
	}
}

func TestARendezvousWhoseAgentsHaveAllEndedStaysClosedForTheGrace(t *testing.T) {
	for _, c := range closings(t) {
		t.Run(string(c.protocol), func(t *testing.T) {
			w := start(t, func(config *Config) { config.Healing.Grace = time.Hour })
			for rank := range 4 {
				c.ended(w, rank)
			}
			c.close(w)
			w.until("it is closed", func() bool { return w.job().Closed })
			w.server.mu.Lock()
			r := jobs.Rendezvous{Job: "ns/job", RunID: "uid", Protocol: c.protocol}
			at, _ := w.server.decide(r, w.server.keeper.views[r])
			w.server.mu.Unlock()
			if wait := time.Until(at); wait < 50*time.Minute {
				t.Errorf("it is opened in %v", wait)
			}
		})
	}
}

func TestAfterTheGraceItIsOpened(t *testing.T) {
	for _, c := range closings(t) {
		t.Run(string(c.protocol), func(t *testing.T) {
			w := start(t, nil)
			for rank := range 4 {
				c.ended(w, rank)
			}
			c.close(w)
			w.until("it is open", func() bool { return strings.Contains(w.page("/metrics"), `opened_total{reason="not_done"} 1`) })
			if got := c.state(w); got != c.open {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestKeysOfRoundsThatAreOverAreForgotten(t *testing.T) {
	w := start(t, nil)
	c := w.client(tcpstore.Classic)
	for _, round := range []int{0, 297, 298, 299, 300} {
		c.set(fmt.Sprintf("/torch.rendezvous.uid.%d/k", round), "1")
	}
	c.set(stateKey, written(t, "running"))
	c.get(stateKey)
	w.server.mu.Lock()
	left := len(w.server.flat.Keys("ns/job"))
	w.server.mu.Unlock()
	if left != 4 { // 298, 299, 300 and the state
		t.Errorf("%d keys are left", left)
	}

	for _, round := range []int{1, 4, 5, 6} {
		w.put(fmt.Sprintf("%s/rdzv/v_%d/kv/a", run, round), "value", "1")
	}
	w.put(run+"/rdzv/active_version", "value", `{"status":"final","version":"6","participants":[0]}`)
	for round, want := range map[int]int{1: 404, 4: 200, 5: 200, 6: 200} {
		if status, _ := w.etcd("GET", fmt.Sprintf("/v2/keys%s/rdzv/v_%d", run, round), nil); status != want {
			t.Errorf("round %d: %d, want %d", round, status, want)
		}
	}
}

// Each restart in place has a run of its own: those of before must not fill up what the job may keep.
func TestRunsOfEarlierRestartsAreForgotten(t *testing.T) {
	w := start(t, nil)
	c := w.client(tcpstore.Classic)
	const restarts = 6
	for i := range restarts {
		c.set(fmt.Sprintf("%s-1-%d", stateKey, i), written(t, "running"))
		c.set(fmt.Sprintf("/torch.rendezvous.uid-1-%d.300/k", i), "1")
		c.get(fmt.Sprintf("/torch.rendezvous.uid-1-%d.300/k", i))
	}
	w.server.mu.Lock()
	keys, views := w.server.flat.Keys("ns/job"), len(w.server.keeper.views)
	w.server.mu.Unlock()
	if len(keys) != 2*keptRuns || views != keptRuns {
		t.Errorf("%d keys and %d runs are left", len(keys), views)
	}
	if got := c.get(fmt.Sprintf("/torch.rendezvous.uid-1-%d.300/k", restarts-1)); got != "1" {
		t.Errorf("the last run's key is %q", got)
	}
}
