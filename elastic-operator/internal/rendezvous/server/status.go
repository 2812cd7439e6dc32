package server

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/jobs"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/state"
)

// Status is the body of /status.
type Status struct {
	Jobs map[string]JobStatus `json:"jobs"`
}

// JobStatus is a job's rendezvous, that which changed last if its agents have used several protocols. All fields are zero before the first agent came.
type JobStatus struct {
	// Protocol is c10d, etcd-v2 or etcd.
	Protocol string `json:"protocol,omitempty"`
	Round    int64  `json:"round"`
	// Complete tells that the participants of the round train; until then they wait for each other.
	Complete     bool `json:"complete"`
	Participants int  `json:"participants"`
	Waiting      int  `json:"waiting"`
	// Spare is how many have come beyond the most that may take part.
	Spare  int  `json:"spare,omitempty"`
	Closed bool `json:"closed"`
	// Nodes are the participants, as far as they say their names.
	Nodes []NodeStatus `json:"nodes,omitempty"`
	// WaitingNodes are the names of those that wait.
	WaitingNodes []string   `json:"waitingNodes,omitempty"`
	LastChange   *time.Time `json:"lastChange,omitempty"`
	// LastOpened is when the rendezvous was last opened after an agent had closed it.
	LastOpened *time.Time `json:"lastOpened,omitempty"`
	// Unreadable tells that the agents write their state in a way that this server does not know; they are served all the same.
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

// Status is what is known of each job that is served.
func (s *Server) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	latest := map[string]*view{}
	all := Status{Jobs: map[string]JobStatus{}}
	for _, job := range s.config.Jobs.Names() {
		all.Jobs[job] = JobStatus{}
	}
	for r := range s.keeper.views {
		s.look(r) // what has expired since was written by nobody
		v := s.keeper.views[r]
		if other := latest[r.Job]; other == nil || v.changed.After(other.changed) {
			latest[r.Job] = v
			all.Jobs[r.Job] = v.status(r)
		}
	}
	return all
}

func (v *view) status(r jobs.Rendezvous) JobStatus {
	j := JobStatus{
		Protocol: string(r.Protocol), Round: v.state.Round, Complete: v.state.Complete, Closed: v.state.Closed, Unreadable: v.unread,
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
