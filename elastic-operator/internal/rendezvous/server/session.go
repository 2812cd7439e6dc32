package server

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/flat"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/keys"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/tcpstore"
)

// Errors that end a session. TCPStore has no way to say what was wrong: a client learns that its connection is gone.
var (
	errNotServed = errors.New("the key does not belong to the job of this server")
	errSilent    = errors.New("the client does not take its replies")
)

// session is one client of TCPStore.
type session struct {
	server *Server
	out    *outbox
	wait   *flat.Wait
}

// session serves a client until it leaves, or does what cannot be answered.
func (s *Server) session(conn net.Conn, r *bufio.Reader, d tcpstore.Dialect) {
	c := &session{server: s, out: newOutbox(conn, s.config.Patience)}
	defer c.end()
	messages := tcpstore.NewReader(r, d, s.config.message())
	for {
		q, err := next(conn, r, messages, s.config.Patience)
		if err == nil {
			s.metrics.requests.WithLabelValues(q.Op.String()).Inc()
			err = c.answer(q)
		}
		if err != nil {
			s.ended(conn, err)
			return
		}
	}
}

// next waits for a message for as long as it takes, and, once it has begun, for its end with patience.
func next(conn net.Conn, r *bufio.Reader, messages *tcpstore.Reader, patience time.Duration) (tcpstore.Request, error) {
	if _, err := r.Peek(1); err != nil {
		return tcpstore.Request{}, err
	}
	if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return tcpstore.Request{}, err
	}
	q, err := messages.Next()
	return q, errors.Join(err, conn.SetReadDeadline(time.Time{}))
}

// ended counts and logs why a session has ended, if there is something to say.
func (s *Server) ended(conn net.Conn, err error) {
	reason := refusedMessage
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed), isReset(err):
		return
	case errors.Is(err, errNotServed):
		reason = refusedJob
	case errors.Is(err, flat.ErrFull), errors.Is(err, flat.ErrWaitLimit):
		reason = refusedQuota
	case errors.Is(err, errSilent):
		reason = refusedSlow
	}
	s.metrics.refused.WithLabelValues(reason).Inc()
	s.config.Log.Warn("a client of TCPStore is dropped", "client", conn.RemoteAddr().String(), "reason", err.Error())
}

func isReset(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && !op.Timeout()
}

func (c *session) end() {
	c.server.mu.Lock()
	c.server.store.Cancel(c.wait)
	c.server.mu.Unlock()
	c.out.close()
}

// answer carries out a request and puts its reply, if it has one, into the outbox: all under the lock, so that replies are in the order in which
// the store saw the requests, also that to a wait and that to its cancellation.
func (c *session) answer(q tcpstore.Request) error {
	s := c.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.permit(q); err != nil {
		return err
	}
	switch q.Op {
	case tcpstore.OpWait:
		return c.await(q.Keys)
	case tcpstore.OpCancelWait:
		s.store.Cancel(c.wait)
		c.wait = nil
		return c.out.put(tcpstore.Canceled())
	case tcpstore.OpPing:
		return c.out.put(tcpstore.Pong(q.Nonce))
	}
	reply, err := s.apply(q)
	if err != nil {
		return err
	}
	return c.out.put(reply)
}

func (c *session) await(keys []string) error {
	c.server.store.Cancel(c.wait)
	wait, err := c.server.store.Wait(keys, func() { _ = c.out.put(tcpstore.Ready()) })
	c.wait = wait
	return err
}

// permit refuses the keys of other jobs.
func (s *Server) permit(q tcpstore.Request) error {
	for _, key := range q.Keys {
		if _, ok := keys.Parse(key, s.config.RunID); !ok {
			return fmt.Errorf("%w: %.200q", errNotServed, key)
		}
	}
	return nil
}
