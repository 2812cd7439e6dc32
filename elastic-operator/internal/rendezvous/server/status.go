package server

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/state"
)

// Status is the body of /status: the run whose state changed last. All fields are zero before the first agent has connected.
type Status struct {
	Round int64 `json:"round"`
	// Restarts is the number of completed rounds after the first: how often the agents have restarted their workers.
	Restarts int64 `json:"restarts,omitempty"`
	// Complete reports whether the participants of the round train; until then they wait for each other.
	Complete     bool `json:"complete"`
	Participants int  `json:"participants"`
	Waiting      int  `json:"waiting"`
	// Spare is the number of agents beyond the maximum.
	Spare  int  `json:"spare,omitempty"`
	Closed bool `json:"closed"`
	// Nodes are the participants, at most maxNodes of them.
	Nodes []NodeStatus `json:"nodes,omitempty"`
	// WaitingNodes are the names of those that wait, at most maxNodes of them.
	WaitingNodes []string   `json:"waitingNodes,omitempty"`
	LastChange   *time.Time `json:"lastChange,omitempty"`
	// LastOpened is when the rendezvous was last opened after an agent had closed it.
	LastOpened *time.Time `json:"lastOpened,omitempty"`
	// Unreadable reports whether the agents write a state that this server cannot read. It serves them all the same.
	Unreadable bool `json:"unreadable,omitempty"`
}

// NodeStatus is a participant.
type NodeStatus struct {
	Name string `json:"name"`
	// Rank is that of the agent, -1 before the round is complete.
	Rank int64 `json:"rank"`
}

// maxNodes is how many nodes are listed; all are counted.
const maxNodes = 256

// Status returns the status of the run whose state changed last.
func (s *Server) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	var latest *view
	for _, v := range s.keeper.views {
		if latest == nil || v.changed.After(latest.changed) {
			latest = v
		}
	}
	if latest == nil {
		return Status{}
	}
	return latest.status()
}

func (v *view) status() Status {
	j := Status{
		Round: v.state.Round, Restarts: max(0, v.completed-1), Complete: v.state.Complete, Closed: v.state.Closed, Unreadable: v.unread,
		Participants: len(v.state.Participants), Waiting: len(v.state.Waiting), Spare: len(v.state.Spare), LastChange: instant(v.changed), LastOpened: instant(v.opened),
	}
	for _, n := range named(v.state.Participants) {
		j.Nodes = append(j.Nodes, NodeStatus(n))
	}
	for _, n := range named(v.state.Waiting) {
		j.WaitingNodes = append(j.WaitingNodes, n.Name)
	}
	return j
}

func named(nodes []state.Node) (with []state.Node) {
	for _, n := range nodes {
		if n.Name != "" && len(with) < maxNodes {
			with = append(with, n)
		}
	}
	return with
}

func instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// Handler serves /status, /healthz and /metrics, on a port of their own.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(s.Status())
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{}))
	return mux
}
