// Package server is the managed rendezvous server of one job. It serves torch's TCPStore on one port, and status, probes and metrics on
// another.
//
//	connection -> dialect by its first bytes -> session.go, under one lock -> store.go
//
// After each write of a rendezvous state, monitor.go parses it for the status, and reopens the rendezvous if it was closed.
// Nothing is stored on disk. See docs/adr/20261122-keep-rendezvous-state-in-memory.md.
package server

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/tcpstore"
	"github.com/holdfast-project/holdfast/shared/bootstrap/meter"
	"github.com/holdfast-project/holdfast/shared/series"
)

// Server serves the rendezvous of one job.
type Server struct {
	config   Config
	registry *prometheus.Registry
	metrics  meter.Counters

	// mu guards the store and the runs. No I/O is performed while it is held.
	mu    sync.Mutex
	store *store
	runs  map[string]*run // by run ID

	connections atomic.Int64 // open connections
}

// New returns a server with an empty store.
func New(c Config) *Server {
	s := &Server{config: c, registry: prometheus.NewRegistry(), store: newStore(c.Store), runs: map[string]*run{}}
	s.metrics = newMetrics(s)
	return s
}

// newMetrics creates and registers the metrics.
func newMetrics(s *Server) meter.Counters {
	s.registry.MustRegister(
		meter.GaugeFunc(series.RendezvousConnections, func() float64 { return float64(s.connections.Load()) }),
		meter.GaugeFunc(series.RendezvousParticipants, func() float64 { return float64(s.Status().Participants) }),
		meter.GaugeFunc(series.RendezvousWaitingNodes, func() float64 { return float64(s.Status().Waiting) }),
	)
	m := meter.NewCounters(s.registry, series.RendezvousRequests, series.RendezvousRefused, series.RendezvousRounds, series.RendezvousOpened)
	for _, op := range tcpstore.Ops[tcpstore.Validated] { // includes those of the classic dialect
		if op != tcpstore.OpNone {
			m.Zero(series.RendezvousRequests, string(op))
		}
	}
	m.Zero(series.RendezvousOpened, agentLeft, jobNotDone)
	return m
}

// Serve accepts connections until ctx is done, then closes all connections.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	context.AfterFunc(ctx, func() { l.Close() })
	for {
		conn, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, net.ErrClosed):
			return err
		case err != nil: // probably too many open files
			s.config.Log.Warn("failed to accept a connection, retrying", "error", err)
			time.Sleep(10 * time.Millisecond)
			continue
		}
		if s.connections.Load() >= int64(s.config.Connections) {
			s.metrics.Inc(series.RendezvousRefused)
			s.config.Log.Warn("too many connections, closing a new one", "client", conn.RemoteAddr().String())
			conn.Close()
			continue
		}
		s.connections.Add(1)
		go s.serve(ctx, conn)
	}
}

// Config configures a server.
type Config struct {
	// RunID is the rendezvous ID of the job. Requests for keys of other jobs are rejected.
	RunID string
	Store int64 // maximum size of the store in bytes
	Value int   // maximum size of a value in bytes
	// Grace is how long a rendezvous stays closed after all its agents have terminated, so that waiting agents learn about it. It is short,
	// because the agents may all have failed.
	Grace time.Duration
	// Connections is the maximum number of open connections. The server closes further connections immediately.
	Connections int
	// Timeout is how long a client may take to send the rest of a message, or to receive a reply.
	Timeout time.Duration
	Log     *slog.Logger
}

// Defaults returns the default configuration. RunID has no default.
func Defaults() Config {
	return Config{
		Store:       32 << 20,
		Value:       4 << 20,
		Grace:       5 * time.Second,
		Connections: 10_000,
		Timeout:     10 * time.Second,
		Log:         slog.New(slog.DiscardHandler),
	}
}

// Status is the body of /status. It describes the run that changed last. All fields are zero until the first agent has connected.
type Status struct {
	Round int64 `json:"round"`
	// Restarts is the number of times that the agents have restarted their workers: the number of completed rounds after the first one.
	Restarts int64 `json:"restarts,omitempty"`
	// Complete means that all participants of the round have joined. Until then they wait for each other.
	Complete     bool `json:"complete"`
	Participants int  `json:"participants"`
	Waiting      int  `json:"waiting"`
	Closed       bool `json:"closed"`
	// Message is set if the server cannot parse the agents' state. The agents can still use the server.
	Message string `json:"message,omitempty"`
}

// Status returns the status of the run that changed last.
func (s *Server) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	var latest *run
	for _, r := range s.runs {
		if latest == nil || r.changed.After(latest.changed) {
			latest = r
		}
	}
	if latest == nil {
		return Status{}
	}
	now := latest.state
	return Status{
		Round: now.Round, Restarts: max(0, latest.completed-1), Complete: now.Complete, Closed: now.Closed,
		Participants: now.Participants, Waiting: now.Waiting, Message: latest.message,
	}
}

// Handler returns the handler for /status, /healthz and /metrics.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(s.Status())
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{}))
	return mux
}

// keepAlive detects clients whose node is lost, so that their connections are closed.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 4}

// serve detects the dialect of a client and serves it. There is no timeout for the first byte, because torch 1.13 opens a second connection
// for subscriptions and never uses it.
func (s *Server) serve(ctx context.Context, conn net.Conn) {
	defer s.connections.Add(-1)
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetKeepAliveConfig(keepAlive)
	}
	buffered := bufio.NewReaderSize(conn, 4<<10)
	first, err := buffered.Peek(1)
	if err != nil {
		return
	}
	dialect := tcpstore.Sniff(first)
	if dialect == tcpstore.Undecided {
		_ = conn.SetReadDeadline(time.Now().Add(s.config.Timeout))
		if first, err = buffered.Peek(tcpstore.SniffLength); err != nil {
			return
		}
		_ = conn.SetReadDeadline(time.Time{})
		dialect = tcpstore.Sniff(first)
	}
	if dialect == tcpstore.Unknown {
		s.metrics.Inc(series.RendezvousRefused)
		s.config.Log.Warn("unknown protocol, closing the connection", "client", conn.RemoteAddr().String(), "first", first)
		return
	}
	if dialect == tcpstore.Validated {
		_, _ = buffered.Discard(tcpstore.SniffLength) // the greeting, which has been peeked at
	}
	s.session(conn, buffered, dialect)
}
