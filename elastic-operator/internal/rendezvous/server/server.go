// Package server is the managed rendezvous server of one job. It serves torch's TCPStore on one port, and status, probes and metrics on
// another.
//
//	connection -> dialect by its first bytes -> session.go -> keys.go, under one lock -> flat
//
// After each write of a rendezvous state, monitor.go parses it for the status, and reopens the rendezvous if it was closed (package
// healing). Nothing is stored on disk. See docs/adr/20261122-keep-rendezvous-state-in-memory.md.
package server

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/flat"
)

// Server serves the rendezvous of one job.
type Server struct {
	config  Config
	metrics *metrics

	// mu protects the store and the monitor. No I/O is done while it is held.
	mu      sync.Mutex
	store   *flat.Store
	monitor monitor

	connections connections
}

// New returns a server with an empty store.
func New(c Config) *Server {
	s := &Server{
		config: c, store: flat.New(c.Store), monitor: monitor{runs: map[string]*run{}},
		connections: connections{limit: c.Connections, open: map[net.Conn]struct{}{}},
	}
	s.metrics = newMetrics(s)
	return s
}

// Serve accepts connections until ctx is done, then closes all connections.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	defer s.close()
	for {
		conn, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, net.ErrClosed):
			return err
		case err != nil: // probably too many open files
			s.config.Log.Warn("accepting a connection failed, retrying", "error", err)
			time.Sleep(10 * time.Millisecond)
			continue
		}
		if !s.connections.add(conn) {
			s.metrics.refused.WithLabelValues(refusedConnections).Inc()
			conn.Close()
			continue
		}
		go s.serve(conn)
	}
}

func (s *Server) close() {
	s.mu.Lock()
	s.monitor.stop()
	s.mu.Unlock()
	s.connections.closeAll()
}
