package server

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/state"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/tcpstore"
	"github.com/holdfast-project/holdfast/shared/series"
)

// session is the session of one client. It sends replies in order, without blocking the caller of put.
type session struct {
	server *Server
	conn   net.Conn
	wait   *wait

	mu      sync.Mutex
	pending []byte // replies
	writing bool
	ended   bool
}

// session serves a client until it disconnects or a request fails. TCPStore has no error replies, so the server closes the connection.
func (s *Server) session(conn net.Conn, r *bufio.Reader, d tcpstore.Dialect) {
	c := &session{server: s, conn: conn}
	defer c.end()
	messages := tcpstore.NewReader(r, d, s.config.Value)
	for {
		q, err := next(conn, r, messages, s.config.Timeout)
		if err == nil {
			s.metrics.Inc(series.RendezvousRequests, string(q.Op))
			err = c.answer(q)
		}
		if err != nil {
			s.ended(conn, err)
			return
		}
	}
}

// next waits for the start of a message without a timeout, and for the rest of it with one.
func next(conn net.Conn, r *bufio.Reader, messages *tcpstore.Reader, timeout time.Duration) (tcpstore.Request, error) {
	if _, err := r.Peek(1); err != nil {
		return tcpstore.Request{}, err
	}
	if err := conn.SetReadDeadline(time.Now().Add(timeout)); err != nil {
		return tcpstore.Request{}, err
	}
	q, err := messages.Next()
	return q, errors.Join(err, conn.SetReadDeadline(time.Time{}))
}

// ended logs the reason why the server ended a session, and counts it in the metrics.
func (s *Server) ended(conn net.Conn, err error) {
	if !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) && !isReset(err) {
		s.metrics.Inc(series.RendezvousRefused)
		s.config.Log.Warn("request rejected, closing the connection", "client", conn.RemoteAddr().String(), "reason", err.Error())
	}
}

func isReset(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && !op.Timeout()
}

func (c *session) end() {
	c.server.mu.Lock()
	c.server.store.cancel(c.wait)
	c.server.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
}

// answer executes a request and queues the reply. It holds the lock while doing both, so that replies are in the order of the store's
// operations, including the replies to a wait and to its cancellation.
func (c *session) answer(q tcpstore.Request) error {
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range q.Keys {
		if _, ok := state.ParseKey(key, s.config.RunID); !ok {
			return fmt.Errorf("the key %.200q does not belong to the job of this server", key)
		}
	}
	reply, err := c.apply(q)
	if err != nil {
		return err
	}
	return c.put(reply)
}

// maxPending limits the unsent replies to a client, in bytes.
const maxPending = 16 << 20

// put queues a reply. It fails if the client is too far behind in reading its replies.
func (c *session) put(reply []byte) error {
	if len(reply) == 0 {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended || len(c.pending)+len(reply) > maxPending {
		return errors.New("the client does not read its replies")
	}
	c.pending = append(c.pending, reply...)
	if !c.writing {
		c.writing = true
		go c.write()
	}
	return nil
}

// write sends replies until none are pending. After a failure it closes the connection, which ends the session.
func (c *session) write() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.pending) > 0 && !c.ended {
		batch := c.pending
		c.pending = nil
		c.mu.Unlock()
		_ = c.conn.SetWriteDeadline(time.Now().Add(c.server.config.Timeout))
		_, err := c.conn.Write(batch)
		c.mu.Lock()
		if err != nil {
			c.ended = true
			c.conn.Close()
		}
	}
	c.writing = false
}

// apply executes a request with permitted keys and returns the reply, if any. The caller holds the lock.
func (c *session) apply(q tcpstore.Request) (reply []byte, err error) {
	s := c.server
	switch q.Op {
	case tcpstore.OpPing:
		return tcpstore.Pong(q.Number), nil
	case tcpstore.OpWait:
		s.store.cancel(c.wait)
		c.wait, err = s.store.wait(q.Keys, func() { _ = c.put(tcpstore.Ready) })
		return nil, err
	case tcpstore.OpCancelWait:
		s.store.cancel(c.wait)
		c.wait = nil
		return tcpstore.Canceled, nil
	case tcpstore.OpGet, tcpstore.OpMultiGet:
		return s.read(q.Keys)
	case tcpstore.OpCheck:
		if len(s.store.missing(q.Keys)) == 0 {
			return tcpstore.Ready, nil
		}
		return tcpstore.NotReady, nil
	case tcpstore.OpDelete:
		return tcpstore.Number(s.store.delete(q.Keys[0])), nil
	case tcpstore.OpAdd:
		sum, err := s.store.add(q.Keys[0], q.Number)
		return tcpstore.Number(sum), err
	case tcpstore.OpCompareSet:
		return s.compareSet(q.Keys[0], q.Values[0], q.Values[1])
	}
	return nil, s.write(q.Keys, q.Values)
}

// compareSet parses the rendezvous state only if it was written. When many agents join, most attempts fail, and parsing the state each time
// would be too expensive.
func (s *Server) compareSet(key string, expected, desired []byte) (reply []byte, err error) {
	value, err := s.store.compareAndSet(key, expected, desired)
	if err == nil && bytes.Equal(value, desired) {
		s.wrote(key)
	}
	return tcpstore.Value(value), err
}

func (s *Server) read(keys []string) (reply []byte, err error) {
	for _, key := range keys {
		value, ok := s.store.values[key]
		if !ok {
			return nil, fmt.Errorf("the key %.200q does not exist", key)
		}
		if len(reply)+len(value) > maxPending { // a request may contain the same key many times
			return nil, fmt.Errorf("%w: the reply for %d keys", tcpstore.ErrTooLarge, len(keys))
		}
		reply = append(reply, tcpstore.Value(value)...)
	}
	return reply, nil
}

func (s *Server) write(keys []string, values [][]byte) error {
	for i, key := range keys {
		if err := s.store.set(key, values[i]); err != nil {
			return err
		}
		s.wrote(key)
	}
	return nil
}
