package server

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"sync"
	"time"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/tcpstore"
)

// connections is a set of open connections with a maximum size.
type connections struct {
	mu     sync.Mutex
	limit  int
	open   map[net.Conn]struct{}
	closed bool
}

func (c *connections) add(conn net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || len(c.open) >= c.limit {
		return false
	}
	c.open[conn] = struct{}{}
	return true
}

func (c *connections) remove(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, conn)
}

func (c *connections) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open)
}

func (c *connections) closeAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for conn := range c.open {
		conn.Close()
	}
}

// keepAlive detects clients whose node is lost, so that their connections are closed.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 4}

// serve detects the dialect of a client and serves it. There is no timeout for the first byte, because torch 1.13 opens a second connection
// for subscriptions and never uses it.
func (s *Server) serve(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetKeepAliveConfig(keepAlive)
	}
	first := make([]byte, 1, tcpstore.SniffLength)
	if _, err := conn.Read(first); err != nil {
		s.drop(conn)
		return
	}
	buffered := bufio.NewReaderSize(io.MultiReader(bytes.NewReader(first), conn), 4<<10)
	dialect, err := detect(conn, buffered, s.config.Timeout)
	switch {
	case err != nil:
		s.drop(conn)
	case dialect == tcpstore.Unknown:
		s.metrics.refused.WithLabelValues(refusedProtocol).Inc()
		s.config.Log.Warn("unknown protocol, closing the connection", "client", conn.RemoteAddr().String(), "first", first)
		s.drop(conn)
	default:
		s.metrics.accepted.WithLabelValues(dialect.String()).Inc()
		s.session(conn, buffered, dialect)
		s.drop(conn)
	}
}

func (s *Server) drop(conn net.Conn) {
	conn.Close()
	s.connections.remove(conn)
}

// detect detects the dialect by the first bytes without consuming them.
func detect(conn net.Conn, r *bufio.Reader, timeout time.Duration) (tcpstore.Dialect, error) {
	first, err := r.Peek(1)
	if err != nil {
		return tcpstore.Unknown, err
	}
	if d := tcpstore.Sniff(first); d != tcpstore.Undecided {
		return d, nil
	}
	_ = conn.SetReadDeadline(time.Now().Add(timeout))
	first, err = r.Peek(tcpstore.SniffLength)
	if err != nil {
		return tcpstore.Unknown, err
	}
	return tcpstore.Sniff(first), conn.SetReadDeadline(time.Time{})
}
