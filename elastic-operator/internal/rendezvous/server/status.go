package server

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/state"
)

// Status is the body of /status. It describes the run that changed last. All fields are zero before the first agent has connected.
type Status struct {
	Round int64 `json:"round"`
	// Restarts is how often the agents have restarted their workers: the number of completed rounds after the first one.
	Restarts int64 `json:"restarts,omitempty"`
	// Complete means that all participants of the round have joined. Until then they wait for each other.
	Complete     bool `json:"complete"`
	Participants int  `json:"participants"`
	Waiting      int  `json:"waiting"`
	// Spare is the number of agents beyond the maximum.
	Spare  int  `json:"spare,omitempty"`
	Closed bool `json:"closed"`
	// Nodes lists up to maxNodes participants.
	Nodes []NodeStatus `json:"nodes,omitempty"`
	// WaitingNodes lists the names of up to maxNodes waiting agents.
	WaitingNodes []string   `json:"waitingNodes,omitempty"`
	LastChange   *time.Time `json:"lastChange,omitempty"`
	// LastOpened is when the server last reopened the rendezvous after an agent had closed it.
	LastOpened *time.Time `json:"lastOpened,omitempty"`
	// Unreadable means that the server cannot parse the state written by the agents. The agents are served anyway.
	Unreadable bool `json:"unreadable,omitempty"`
}

// NodeStatus is the status of a participant.
type NodeStatus struct {
	Name string `json:"name"`
	// Rank is the rank of the agent, or -1 before the round is complete.
	Rank int64 `json:"rank"`
}

// maxNodes limits the listed nodes. The counts include all nodes.
const maxNodes = 256

// Status returns the status of the run that changed last.
func (s *Server) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	var latest *run
	for _, r := range s.monitor.runs {
		if latest == nil || r.changed.After(latest.changed) {
			latest = r
		}
	}
	if latest == nil {
		return Status{}
	}
	return latest.status()
}

func (r *run) status() Status {
	status := Status{
		Round: r.state.Round, Restarts: max(0, r.completed-1), Complete: r.state.Complete, Closed: r.state.Closed, Unreadable: r.unreadable,
		Participants: len(r.state.Participants), Waiting: len(r.state.Waiting), Spare: len(r.state.Spare),
		LastChange: optionalTime(r.changed), LastOpened: optionalTime(r.reopened),
	}
	for _, n := range named(r.state.Participants) {
		status.Nodes = append(status.Nodes, NodeStatus(n))
	}
	for _, n := range named(r.state.Waiting) {
		status.WaitingNodes = append(status.WaitingNodes, n.Name)
	}
	return status
}

// named returns up to maxNodes nodes that have a name.
func named(nodes []state.Node) (list []state.Node) {
	for _, n := range nodes {
		if n.Name != "" && len(list) < maxNodes {
			list = append(list, n)
		}
	}
	return list
}

func optionalTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(t.UTC())
}

// Handler returns the handler of /status, /healthz and /metrics.
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
