package server

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Status is the body of /status. It describes the run that changed last. All fields are zero before the first agent has connected.
type Status struct {
	Round int64 `json:"round"`
	// Restarts is how often the agents have restarted their workers: the number of completed rounds after the first one.
	Restarts int64 `json:"restarts,omitempty"`
	// Complete means that all participants of the round have joined. Until then they wait for each other.
	Complete     bool      `json:"complete"`
	Participants int       `json:"participants"`
	Waiting      int       `json:"waiting"`
	Closed       bool      `json:"closed"`
	LastChange   time.Time `json:"lastChange,omitzero"`
	// LastOpened is when the server last reopened the rendezvous after an agent had closed it.
	LastOpened time.Time `json:"lastOpened,omitzero"`
	// Unreadable means that the server cannot parse the state written by the agents. The agents are served anyway.
	Unreadable bool `json:"unreadable,omitempty"`
}

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
	return Status{
		Round: r.state.Round, Restarts: max(0, r.completed-1), Complete: r.state.Complete, Closed: r.state.Closed, Unreadable: r.unreadable,
		Participants: r.state.Participants, Waiting: r.state.Waiting, LastChange: r.changed.UTC(), LastOpened: r.reopened.UTC(),
	}
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
