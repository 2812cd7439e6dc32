package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/flat"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/jobs"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/tree"
)

// Server serves the jobs of its configuration.
type Server struct {
	config  Config
	metrics *metrics

	// mu guards the stores and the keeper. Nothing waits for a client while it is held.
	mu     sync.Mutex
	flat   *flat.Store
	tree   *tree.Tree
	keeper keeper

	connections connections
	etcd        *http.Server
	handed      *handed
	expiry      *time.Timer // calls expire when the next key of the tree is due
}

// New makes a server. The index of its tree begins at the time, so that what clients remember of an earlier one compares to nothing here.
func New(c Config) (*Server, error) {
	s := &Server{
		config: c, flat: flat.New(c.Quota), tree: tree.New(uint64(time.Now().UnixMilli()), c.Quota),
		keeper: newKeeper(), connections: connections{limit: c.Connections, open: map[net.Conn]struct{}{}}, handed: newHanded(),
	}
	for _, folder := range jobs.Folders {
		if err := s.tree.MakeFolder(folder); err != nil {
			return nil, fmt.Errorf("preparing the store: %w", err)
		}
	}
	s.metrics = newMetrics(s)
	s.etcd = &http.Server{
		Handler: s.etcdHandler(), ReadHeaderTimeout: c.Patience, MaxHeaderBytes: 16 << 10,
		IdleTimeout: 10 * time.Minute, // agents ask every few seconds, and a connection that is closed under them costs a retry
		ErrorLog:    nil,
	}
	s.expiry = time.AfterFunc(time.Hour, s.expire)
	return s, nil
}

// Serve serves clients that come to the listener until ctx ends, then gives those that are served a moment, and closes all.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	go func() { _ = s.etcd.Serve(s.handed) }()
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
	s.expiry.Stop()
	s.mu.Lock()
	s.keeper.stop()
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = s.etcd.Shutdown(ctx)
	s.etcd.Close()
	s.connections.closeAll()
}

// expire removes what is due, so that watchers learn of it.
func (s *Server) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tree.Expire(time.Now())
	s.scheduleExpiry()
}

// scheduleExpiry is called under the lock, after whatever may have changed the time of a key.
func (s *Server) scheduleExpiry() {
	if at, ok := s.tree.NextExpiry(); ok {
		s.expiry.Reset(time.Until(at))
	}
}
