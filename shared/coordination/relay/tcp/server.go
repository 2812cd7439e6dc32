package tcp

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/relay"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

const (
	helloTimeout = 5 * time.Second // from connecting to sending the token
	writeTimeout = 2 * time.Second // a member that does not read for this long is disconnected
	backlog      = 64              // messages waiting for a member
	maxMembers   = 2 * 128         // connections to a relay; a reconnecting member may have two for a while
	acceptPause  = time.Second     // after an accept error, such as too many open files
)

// server is a running relay.
type server struct {
	up       *upstream
	slot     string
	record   relay.Record
	listener net.Listener
	working  sync.WaitGroup

	mu      sync.Mutex
	members map[*peer]bool // true if the member has sent the token
	outage  message        // message for new members that says why the store is unreachable; nil if it is reachable
	ended   bool
}

// peer is a connected member.
type peer struct {
	conn net.Conn
	out  chan message
	end  context.CancelFunc // closes the connection
	done <-chan struct{}
}

// listen starts a relay on one of this machine's addresses.
func listen(store Store, group, slot, host string) (*server, error) {
	certificate, fingerprint, err := newCertificate()
	if err != nil {
		return nil, err
	}
	config := net.ListenConfig{KeepAliveConfig: probeMember}
	l, err := config.Listen(context.Background(), "tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return nil, fmt.Errorf("listening for members: %w", err)
	}
	return &server{
		up:   &upstream{store: store, group: group, members: 1, wake: make(chan struct{}, 1)},
		slot: slot, listener: tls.NewListener(l, serverTLS(certificate)), members: map[*peer]bool{}, outage: message{kindOutage, errorText(errStarting)},
		record: relay.Record{Address: l.Addr().String(), Fingerprint: fingerprint, Token: rand.Text()},
	}, nil
}

// run serves until ctx is done.
func (s *server) run(ctx context.Context) {
	s.working.Go(func() { s.up.run(ctx) })
	s.working.Go(func() { s.announce(ctx) })
	s.working.Go(s.accept)
	<-ctx.Done()
	s.listener.Close()
	s.mu.Lock()
	s.ended = true
	for p := range s.members {
		p.end()
	}
	s.mu.Unlock()
	s.working.Wait()
}

var errStarting = errors.New("the relay has not observed the group yet")

func (s *server) announce(ctx context.Context) {
	tick := time.NewTicker(relay.RecordEvery)
	defer tick.Stop()
	for {
		calling, cancel := context.WithTimeout(ctx, callTimeout)
		_ = s.up.store.Announce(calling, s.up.group, s.slot, s.record.String(), relay.RecordLife) // if this fails, members use the store
		cancel()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (s *server) accept() {
	for {
		conn, err := s.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(acceptPause)
			continue
		}
		ctx, end := context.WithCancel(context.Background())
		context.AfterFunc(ctx, func() { conn.Close() })
		p := &peer{conn: conn, out: make(chan message, backlog), end: end, done: ctx.Done()}
		if !s.add(p) {
			end()
			continue
		}
		s.working.Go(func() { s.serve(p) })
	}
}

func (s *server) add(p *peer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || len(s.members) >= maxMembers {
		return false
	}
	s.members[p] = false
	return true
}

// serve handles one member until its connection ends.
func (s *server) serve(p *peer) {
	defer func() {
		p.end()
		s.forget(p)
	}()
	_ = p.conn.SetDeadline(time.Now().Add(helloTimeout))
	lines := newReader(p.conn)
	hello, err := lines.next()
	if err != nil || hello.kind() != kindHello || subtle.ConstantTimeCompare([]byte(hello.field(1)), []byte(s.record.Token)) != 1 {
		return
	}
	_ = p.conn.SetDeadline(time.Time{})
	s.working.Go(p.write)
	s.welcome(p)
	for {
		m, err := lines.next()
		if err != nil {
			return
		}
		if m.kind() == kindPing {
			p.send(message{kindPong})
			continue
		}
		s.up.request(m, func(answer message) { p.send(append(message{kindAnswer, m.field(1)}, answer...)) })
	}
}

// welcome registers a member to receive all messages from now on.
func (s *server) welcome(p *peer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.members[p] = true
	s.up.served(1)
	if s.outage != nil {
		p.send(s.outage)
	}
}

func (s *server) forget(p *peer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.members[p] {
		s.up.served(-1)
	}
	delete(s.members, p)
}

// join sends the join of the relay's own worker together with other members' joins.
func (s *server) join(ctx context.Context, c rounds.Call) (string, rounds.Level, error) {
	answered := make(chan message, 1)
	s.up.request(joinMessage("", c), func(m message) { answered <- m })
	select {
	case m := <-answered:
		return parseJoin(m)
	case <-ctx.Done():
		return "", rounds.Level{}, ctx.Err()
	}
}

// forward sends an observation from the store to all members.
func (s *server) forward(o rounds.Observation) {
	m := message{kindPublished, o.Level.String()}
	switch {
	case errors.Is(o.Err, coordination.ErrForeignValue):
		return // members read the level themselves at intervals
	case o.Read:
		m[0] = kindRead
	case o.Err != nil:
		m = message{kindOutage, errorText(o.Err)}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outage = nil
	if m.kind() == kindOutage {
		s.outage = m
	}
	for p, welcome := range s.members {
		if welcome {
			p.send(m)
		}
	}
}

// send never blocks. A member that does not read is disconnected, and then uses the store.
func (p *peer) send(m message) {
	select {
	case p.out <- m:
	default:
		p.end()
	}
}

// write sends waiting messages, several at a time.
func (p *peer) write() {
	defer p.end()
	out := bufio.NewWriterSize(p.conn, 1024)
	for {
		select {
		case <-p.done:
			return
		case m := <-p.out:
			line, err := m.line()
			if err != nil {
				return
			}
			_ = p.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
			if _, err := out.WriteString(line); err != nil {
				return
			}
			if len(p.out) == 0 && out.Flush() != nil {
				return
			}
		}
	}
}

// probeRelay makes a member's kernel detect within a few seconds that the relay is gone. A relay can take longer to detect that a member is
// gone: until then, it merely holds the other members' joins.
var (
	probeRelay  = net.KeepAliveConfig{Enable: true, Idle: 3 * time.Second, Interval: time.Second, Count: 3}
	probeMember = net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: time.Second, Count: 3}
)
