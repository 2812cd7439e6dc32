package tcp

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/relay"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// client is a member's connection to its relay.
type client struct {
	conn   net.Conn
	told   chan message       // messages forwarded by the relay; closed when the connection ends
	end    context.CancelFunc // closes the connection; unanswered requests fail
	done   <-chan struct{}
	change chan struct{} // a signal to check the link, with a buffer of one

	mu      sync.Mutex
	link    *relay.Link
	number  int64
	waiting map[string]chan message // for the answer, by request number
}

// errLeft means that the relay does not answer, so the caller must use the store.
var errLeft = errors.New("the relay is not responding")

// connect connects to a relay and authenticates it.
func connect(ctx context.Context, r relay.Record) (*client, error) {
	ctx, cancel := context.WithTimeout(ctx, helloTimeout)
	defer cancel()
	dialer := tls.Dialer{NetDialer: &net.Dialer{KeepAliveConfig: probeRelay}, Config: clientTLS(r.Fingerprint)}
	conn, err := dialer.DialContext(ctx, "tcp", r.Address)
	if err != nil {
		return nil, fmt.Errorf("connecting to the relay: %w", err)
	}
	life, end := context.WithCancel(context.Background())
	context.AfterFunc(life, func() { conn.Close() })
	c := &client{
		conn: conn, told: make(chan message, backlog), end: end, done: life.Done(), change: make(chan struct{}, 1),
		link: relay.NewLink(time.Now()), waiting: map[string]chan message{},
	}
	if err := c.send(message{kindHello, r.Token}); err != nil {
		c.end()
		return nil, err
	}
	go c.receive()
	go c.keep()
	return c, nil
}

func (c *client) send(m message) error {
	line, err := m.line()
	if err != nil {
		return err
	}
	_ = c.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	if _, err = c.conn.Write([]byte(line)); err != nil {
		c.end()
	}
	return err
}

func (c *client) receive() {
	defer close(c.told)
	defer c.end()
	for lines := newReader(c.conn); ; {
		m, err := lines.next()
		if err != nil {
			return
		}
		c.note(m)
		if m.kind() == kindAnswer || m.kind() == kindPong {
			continue
		}
		select {
		case c.told <- m:
		default:
			return // this member cannot keep up
		}
	}
}

// note updates the link and delivers answers.
func (c *client) note(m message) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.link.Heard(now)
	switch m.kind() {
	case kindAnswer:
		if w, found := c.waiting[m.field(1)]; found {
			delete(c.waiting, m.field(1))
			w <- m
		}
		c.link.Answered(now, len(c.waiting) > 0)
	case kindRead, kindPublished:
		level, _ := rounds.ParseLevel(m.field(1))
		c.link.Told(now, level.Restarting(), m.kind() == kindRead)
		if level.Restarting() {
			c.recheck()
		}
	case kindOutage:
		c.link.StoreLost(now, rand.Float64())
		c.recheck()
	}
}

// recheck makes keep check the link immediately.
func (c *client) recheck() {
	select {
	case c.change <- struct{}{}:
	default:
	}
}

// secondThought is how long a member waits before it leaves its relay. A process that did not run for a while may not have read the
// answer yet.
const secondThought = time.Second

// keep sends pings and ends the connection if the relay does not answer.
func (c *client) keep() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for leaving := false; ; {
		due := false
		select {
		case <-c.done:
			return
		case <-c.change:
		case <-timer.C:
			due = true
		}
		c.mu.Lock()
		verdict, next := c.link.Check(time.Now())
		c.mu.Unlock()
		wait := time.Until(next)
		switch {
		case verdict == relay.Leave && leaving && due:
			c.end()
			return
		case verdict == relay.Leave && leaving:
			continue
		case verdict == relay.Leave:
			wait = secondThought
		case verdict == relay.Ping:
			_ = c.send(message{kindPing})
		}
		leaving = verdict == relay.Leave
		timer.Reset(max(0, wait))
	}
}

// request sends a request and returns the answer, or an error if there is none.
func (c *client) request(ctx context.Context, build func(number string) message) (message, error) {
	answer := make(chan message, 1)
	c.mu.Lock()
	c.number++
	number := strconv.FormatInt(c.number, 10)
	c.waiting[number] = answer
	c.link.Requested(time.Now())
	c.mu.Unlock()
	defer c.forget(number)
	c.recheck()
	if err := c.send(build(number)); err != nil {
		return nil, errLeft
	}
	select {
	case m := <-answer:
		return m, nil
	case <-c.done:
		return nil, errLeft
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// forget stops waiting for an answer. The link still expects it.
func (c *client) forget(number string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, number)
}

// ask sends a request and calls parse with the fields after the error in the answer. If the answer is unreadable, it ends the
// connection. If the relay could not reach the store, the link records that.
func (c *client) ask(ctx context.Context, build func(number string) message, parse func(message) error) error {
	m, err := c.request(ctx, build)
	if err != nil {
		return err
	}
	if err := parseError(m.field(2)); err != nil {
		if answerErrors[m.field(2)] == nil {
			c.mu.Lock()
			c.link.StoreLost(time.Now(), rand.Float64())
			c.mu.Unlock()
			c.recheck()
		}
		return err
	}
	if err := parse(m[2:]); err != nil {
		c.end()
		return errLeft
	}
	return nil
}

func (c *client) join(ctx context.Context, call rounds.Call) (reply string, now rounds.Level, err error) {
	err = c.ask(ctx, func(number string) message { return joinMessage(number, call) }, func(m message) (err error) {
		reply, now, err = parseJoin(m)
		return err
	})
	return reply, now, err
}

// parseJoin parses the answer to a join, which consists of error, reply and level.
func parseJoin(m message) (reply string, now rounds.Level, err error) {
	if err := parseError(m.field(0)); err != nil {
		return "", now, err
	}
	now, err = rounds.ParseLevel(m.field(2))
	return m.field(1), now, err
}

// observe reads the level and a pod's place through the relay.
func (c *client) observe(ctx context.Context, own rounds.Slot) (o rounds.Observation) {
	build := func(number string) message { return message{kindObserve, number, own.Name, own.Pod} }
	o.Err = c.ask(ctx, build, func(m message) (err error) {
		if o.Level, err = rounds.ParseLevel(m.field(1)); err != nil {
			return err
		}
		return json.Unmarshal([]byte(m.field(2)), &o.Place)
	})
	o.Read = coordination.IsReply(o.Err)
	return o
}
