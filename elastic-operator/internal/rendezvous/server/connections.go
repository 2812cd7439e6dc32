package server

import (
	"bufio"
	"errors"
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
// subscriptions that nobody makes.
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
	case dialect == tcpstore.HTTP:
		s.metrics.accepted.WithLabelValues(dialect.String()).Inc()
		s.handed.hand(&httpConn{Conn: conn, reader: buffered, done: func() { s.connections.remove(conn) }})
	case dialect == tcpstore.Unknown:
		s.metrics.refused.WithLabelValues(refusedProtocol).Inc()
		s.config.Log.Warn("a client speaks something unknown", "client", conn.RemoteAddr().String(), "first", first)
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

// httpConn is a connection for the HTTP server.
type httpConn struct {
	net.Conn
	reader *bufio.Reader
	once   sync.Once
	done   func()
}

func (c *httpConn) Read(b []byte) (int, error) { return c.reader.Read(b) }

func (c *httpConn) Close() error {
	c.once.Do(c.done)
	return c.Conn.Close()
}

// handed is a listener whose connections have been accepted by another.
type handed struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newHanded() *handed { return &handed{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (h *handed) hand(c net.Conn) {
	select {
	case h.conns <- c:
	case <-h.closed:
		c.Close()
	}
}

var errClosed = errors.New("the server is closed")

// Accept implements net.Listener.
func (h *handed) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.closed:
		return nil, errClosed
	}
}

// Close implements net.Listener.
func (h *handed) Close() error {
	h.once.Do(func() { close(h.closed) })
	return nil
}

// Addr implements net.Listener.
func (h *handed) Addr() net.Addr { return &net.TCPAddr{} }
