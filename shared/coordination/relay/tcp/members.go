// Package tcp runs relays (package relay) over TLS connections between the members of a group. Members implements rounds.Members: it
// uses the store or a relay, or acts as a relay itself. A relay writes its address, the fingerprint of its certificate and a token
// to the store, where only its group can read them. Members therefore need no credentials other than those for the store.
//
// Messages are lines of tab-separated fields. The first field is one of the kinds in wire.go.
package tcp

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination/relay"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// Options configure Members. All fields are required.
type Options struct {
	Plan    relay.Plan
	Address string                // host:port of the store
	Open    func() (Store, error) // prepares store connections, which are closed while a relay is used
	Log     *slog.Logger
}

// Members is the interface through which a member uses a store, with or without relays. It is safe for concurrent use.
type Members struct {
	options Options
	client  atomic.Pointer[client] // nil while the member uses the store
	server  atomic.Pointer[server] // nil unless the member is a relay

	mu    sync.Mutex
	store Store     // nil while it is closed
	used  time.Time // when the store was last used
	works string    // slot in which the pod works; "" if unknown or none
	relay string    // slot of the member's relay; "" if it has none
}

var _ rounds.Members = (*Members)(nil)

// New checks that the store can be opened. It does not connect.
func New(o Options) (*Members, error) {
	store, err := o.Open()
	if err != nil {
		return nil, err
	}
	return &Members{options: o, store: store, used: time.Now()}, nil
}

// Close closes the connections for calls. A Watch ends with its context.
func (m *Members) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.store == nil {
		return nil
	}
	return m.store.Close()
}

// direct returns the store, and opens it if it is closed.
func (m *Members) direct() (Store, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.used = time.Now()
	if m.store != nil {
		return m.store, nil
	}
	store, err := m.options.Open()
	if err != nil {
		return nil, err // not stored: it may be a nil pointer in an interface, which is not nil
	}
	m.store = store
	return store, nil
}

// idleStore is how long an unused store connection for calls stays open while the relay is used. It is longer than any call.
const idleStore = 4 * time.Second

// closeIdle closes the store connection if it has been unused for idleStore.
func (m *Members) closeIdle() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.store != nil && time.Since(m.used) > idleStore {
		_ = m.store.Close()
		m.store = nil
	}
}

// Call implements rounds.Members. Only joins are relayed.
func (m *Members) Call(ctx context.Context, group string, c rounds.Call) (string, rounds.Level, error) {
	if relay.Joins(c) {
		if client := m.client.Load(); client != nil {
			reply, now, err := client.join(ctx, c)
			if !errors.Is(err, errLeft) {
				return reply, now, err
			}
		}
		if s := m.server.Load(); s != nil {
			return s.join(ctx, c)
		}
	}
	store, err := m.direct()
	if err != nil {
		return "", rounds.Level{}, err
	}
	return store.Call(ctx, group, c)
}

// Observe implements rounds.Members.
func (m *Members) Observe(ctx context.Context, group string, own rounds.Slot) (o rounds.Observation) {
	client := m.client.Load()
	if client != nil {
		o = client.observe(ctx, own)
	}
	if client == nil || errors.Is(o.Err, errLeft) {
		store, err := m.direct()
		if err != nil {
			return rounds.Observation{Err: err}
		}
		o = store.Observe(ctx, group, own)
	}
	m.note(own, o)
	return o
}

// Hosts returns the host names of the workers in the given slots. It always queries the store.
func (m *Members) Hosts(ctx context.Context, group string, slots []string) (map[string]string, error) {
	store, err := m.direct()
	if err != nil {
		return nil, err
	}
	return store.Hosts(ctx, group, slots)
}

// note determines this member's relay from what the leader has decided about its pod.
func (m *Members) note(own rounds.Slot, o rounds.Observation) {
	p := o.Place
	if p == nil {
		return
	}
	works := p.Given
	if !p.Spare {
		works = cmp.Or(p.Given, own.Name)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.works, m.relay = works, m.options.Plan.Of(p.Stage, works)
}

// role returns the slot of this member's relay, and whether this member is that relay.
func (m *Members) role() (slot string, relays bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.relay, m.relay != "" && m.relay == m.works
}

// seek connects to the member's relay. It returns nil if there is none or it is unreachable.
func (m *Members) seek(ctx context.Context, group string) *client {
	slot, relays := m.role()
	if slot == "" || relays {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	store, err := m.direct()
	if err != nil {
		return nil
	}
	text, err := store.Announced(ctx, group, slot)
	if err != nil || text == "" {
		return nil
	}
	record, err := relay.ParseRecord(text)
	if err != nil {
		m.options.Log.Warn("ignored an invalid relay record", "relay", slot, "error", err)
		return nil
	}
	c, err := connect(ctx, record)
	if err != nil {
		m.options.Log.Info("relay unreachable, using the store", "relay", slot, "error", err)
		return nil
	}
	m.options.Log.Info("using a relay", "relay", slot, "address", record.Address)
	return c
}

// host returns the local address that is used to reach the store. It does not send anything.
func (m *Members) host() (string, error) {
	conn, err := net.Dial("udp", m.options.Address)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	host, _, err := net.SplitHostPort(conn.LocalAddr().String())
	return host, err
}
