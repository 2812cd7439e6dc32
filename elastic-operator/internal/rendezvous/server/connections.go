package server

import (
	"bufio"
	"net"
	"sync"
	"time"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/tcpstore"
)

// connections are those that are open, up to a limit.
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

// keepAlive finds clients whose node has died: their agents hold a place among the connections.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 4}

// serve finds out what a client speaks. A client may be silent for as long as it likes: torch 1.13 opens a second connection, for
// subscriptions that no client makes.
func (s *Server) serve(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetKeepAliveConfig(keepAlive)
	}
	first := make([]byte, 1, tcpstore.SniffLength)
	if _, err := conn.Read(first); err != nil {
		s.drop(conn)
		return
	}
	buffered := bufio.NewReaderSize(&prefixed{Conn: conn, prefix: first}, 4<<10)
	dialect, err := sniff(conn, buffered, s.config.Patience)
	switch {
	case err != nil:
		s.drop(conn)
	case dialect == tcpstore.Unknown:
		s.metrics.refused.WithLabelValues(refusedProtocol).Inc()
		s.config.Log.Warn("unknown protocol, dropping the client", "client", conn.RemoteAddr().String(), "first", first)
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

// sniff reads as many bytes as it takes, and leaves them to be read.
func sniff(conn net.Conn, r *bufio.Reader, patience time.Duration) (tcpstore.Dialect, error) {
	first, err := r.Peek(1)
	if err != nil {
		return tcpstore.Unknown, err
	}
	if d := tcpstore.Sniff(first); d != tcpstore.Undecided {
		return d, nil
	}
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	first, err = r.Peek(tcpstore.SniffLength)
	if err != nil {
		return tcpstore.Unknown, err
	}
	return tcpstore.Sniff(first), conn.SetReadDeadline(time.Time{})
}

// prefixed is a connection whose first bytes have been read.
type prefixed struct {
	net.Conn
	prefix []byte
}

func (p *prefixed) Read(b []byte) (int, error) {
	if len(p.prefix) > 0 {
		n := copy(b, p.prefix)
		p.prefix = p.prefix[n:]
		return n, nil
	}
	return p.Conn.Read(b)
}
