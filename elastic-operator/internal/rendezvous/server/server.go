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

	// mu guards the store and the keeper. Nothing waits for a client while it is held.
	mu     sync.Mutex
	store  *flat.Store
	keeper keeper

	connections connections
}

// New returns a server with an empty store.
func New(c Config) *Server {
	s := &Server{
		config: c, store: flat.New(c.Store), keeper: newKeeper(),
		connections: connections{limit: c.Connections, open: map[net.Conn]struct{}{}},
	}
	s.metrics = newMetrics(s)
	return s
}

// Serve serves the clients that connect to the listener until ctx ends, then closes all connections.
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
		case err != nil: // too many files are open, most likely
			s.config.Log.Warn("accepting a connection", "error", err)
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
	s.keeper.stop()
	s.mu.Unlock()
	s.connections.closeAll()
}
