package server

import (
	"bytes"
	"encoding/binary"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/tcpstore"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/testing/tcpclient"
)

const key = "/torch.rendezvous.uid.0/k"

// TestOperations expects the replies of torch's own server. The end-to-end tests cover both dialects with real torch.
func TestOperations(t *testing.T) {
	for _, d := range []tcpstore.Dialect{tcpstore.Classic, tcpstore.Validated} {
		t.Run(string(d), func(t *testing.T) {
			c := start(t, nil).client(d)
			c.set(key, "1")
			if got := c.get(key); got != "1" {
				t.Errorf("get: %q", got)
			}
			if got := c.compareSet(key, "1", "2"); got != "2" {
				t.Errorf("compare and set: %q", got)
			}
			if got := c.compareSet(key, "1", "3"); got != "2" {
				t.Errorf("compare and set with a different expected value: %q", got)
			}
			if got := c.compareSet(key+"2", "x", "3"); got != "x" {
				t.Errorf("compare and set of a missing key: %q", got)
			}
			c.send(tcpstore.Request{Op: tcpstore.OpAdd, Keys: []string{key}, Number: 5})
			if got := c.number(); got != 7 {
				t.Errorf("add: %d", got)
			}
			for i, keys := range [][]string{{key}, {key, key + "2"}} {
				c.send(tcpstore.Request{Op: tcpstore.OpCheck, Keys: keys})
				if got := c.bytes(1)[0]; got != byte(i) {
					t.Errorf("check of %d keys: %d", len(keys), got)
				}
			}
			for _, want := range []int64{1, 0} {
				c.send(tcpstore.Request{Op: tcpstore.OpDelete, Keys: []string{key}})
				if got := c.number(); got != want {
					t.Errorf("delete: %d, want %d", got, want)
				}
			}
		})
	}
}

func TestOperationsOfTorch23(t *testing.T) {
	c := start(t, nil).client(tcpstore.Validated)
	c.send(tcpstore.Request{Op: tcpstore.OpPing, Number: 4711})
	if got := binary.LittleEndian.Uint32(c.bytes(4)); got != 4711 {
		t.Errorf("ping: %d", got)
	}
	c.send(tcpstore.Request{Op: tcpstore.OpMultiSet, Keys: []string{key, key + "2"}, Values: [][]byte{[]byte("a"), []byte("b")}})
	c.send(tcpstore.Request{Op: tcpstore.OpMultiGet, Keys: []string{key, key + "2"}})
	if a, b := c.value(), c.value(); a != "a" || b != "b" {
		t.Errorf("multi get: %q, %q", a, b)
	}
}

func TestWaitEndsWhenAnotherClientWrites(t *testing.T) {
	w := start(t, nil)
	waiting := w.client(tcpstore.Classic)
	waiting.send(tcpstore.Request{Op: tcpstore.OpWait, Keys: []string{key, key + "2"}})
	w.until("the server has registered the wait", func() bool { return w.waits() == 2 })
	writer := w.client(tcpstore.Validated)
	writer.set(key, "1")
	w.until("one key exists", func() bool { return w.waits() == 1 })
	writer.set(key+"2", "2")
	if got := waiting.bytes(1)[0]; got != 0 {
		t.Errorf("the wait ended with %d", got)
	}
}

func (w *world) waits() int {
	w.server.mu.Lock()
	defer w.server.mu.Unlock()
	return w.server.store.waits
}

func TestCancelledWaitIsAnsweredOnce(t *testing.T) {
	w := start(t, nil)
	c := w.client(tcpstore.Validated)
	c.send(tcpstore.Request{Op: tcpstore.OpWait, Keys: []string{key}})
	c.send(tcpstore.Request{Op: tcpstore.OpCancelWait})
	if got := c.bytes(1)[0]; got != 1 {
		t.Errorf("the reply to the cancellation is %d", got)
	}
	c.set(key, "1")
	c.send(tcpstore.Request{Op: tcpstore.OpPing, Number: 7})
	if got := binary.LittleEndian.Uint32(c.bytes(4)); got != 7 {
		t.Errorf("unexpected data before the reply to a ping: %d", got)
	}
}

func TestWaitOfADisconnectedClientIsRemoved(t *testing.T) {
	w := start(t, nil)
	c := w.client(tcpstore.Classic)
	c.send(tcpstore.Request{Op: tcpstore.OpWait, Keys: []string{key}})
	w.until("the server has registered the wait", func() bool { return w.waits() == 1 })
	c.conn.Close()
	w.until("the wait is removed", func() bool { return w.waits() == 0 })
	w.until("the connection is closed", func() bool { return w.server.connections.Load() == 0 })
}

func TestConnectionsMayBeIdle(t *testing.T) {
	w := start(t, func(c *Config) { c.Timeout = time.Millisecond })
	silent := w.client(tcpstore.Classic)
	idle := w.client(tcpstore.Classic)
	idle.set(key, "1")
	w.client(tcpstore.Classic).get(key) // the server has served another client in the meantime
	time.Sleep(20 * time.Millisecond)   // far longer than a message may take
	silent.set(key, "2")
	if got := idle.get(key); got == "" {
		t.Error("no value")
	}
}

func TestConnectionsAreClosedAfterErrors(t *testing.T) {
	long := strings.Repeat("x", 2000)
	for name, c := range map[string]struct {
		dialect tcpstore.Dialect
		send    func(*client)
		reason  string
	}{
		"a key of another job":           {tcpstore.Classic, func(c *client) { c.set("/torch.rendezvous.other.0/k", "1") }, "does not belong to the job"},
		"a write that exceeds the quota": {tcpstore.Classic, func(c *client) { c.set(key, long[:1000]); c.set(key+"2", long[:1000]) }, "the store is full"},
		"a value that is too large":      {tcpstore.Classic, func(c *client) { c.set(key, long) }, "the message is too large"},
		"adding to a word":               {tcpstore.Classic, func(c *client) { c.set(key, "x"); c.send(tcpstore.Request{Op: tcpstore.OpAdd, Keys: []string{key}}) }, "the value is not a number"},
		"getting a missing key":          {tcpstore.Classic, func(c *client) { c.send(tcpstore.Request{Op: tcpstore.OpGet, Keys: []string{key}}) }, "does not exist"},
		"a subscription":                 {tcpstore.Classic, func(c *client) { c.raw([]byte{7}) }, "the operation is not supported"},
		"an unknown protocol":            {tcpstore.Classic, func(c *client) { c.raw([]byte{0xCE, 0xF7, 0x85, 0x3C}) }, "unknown protocol"},
		"an incomplete message":          {tcpstore.Classic, func(c *client) { c.raw([]byte{2, 9}) }, "timeout"},
		"an incomplete greeting":         {tcpstore.Classic, func(c *client) { c.raw([]byte{0}) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			log := &lines{}
			w := start(t, func(config *Config) {
				config.Timeout, config.Value, config.Store, config.Log = 50*time.Millisecond, 1500, 1800, slog.New(slog.NewTextHandler(log, nil))
			})
			client := w.client(c.dialect)
			c.send(client)
			client.gone()
			if c.reason == "" {
				return
			}
			w.until("the refusal is counted and logged", func() bool {
				return strings.Contains(w.page("/metrics"), "holdfast_rendezvous_refused_total 1\n") && strings.Contains(log.String(), c.reason)
			})
		})
	}
}

// lines is a log that may be read while it is written.
type lines struct {
	mu   sync.Mutex
	text []byte
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, b...)
	return len(b), nil
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text)
}

func TestConnectionsAreLimited(t *testing.T) {
	w := start(t, func(c *Config) { c.Connections = 1 })
	first := w.client(tcpstore.Classic)
	first.set(key, "1")
	first.get(key)
	w.client(tcpstore.Classic).gone()
	first.conn.Close()
	w.until("the first connection is closed", func() bool { return w.server.connections.Load() == 0 })
	if got := w.client(tcpstore.Classic).get(key); got != "1" {
		t.Errorf("got %q", got)
	}
}

func TestSlowClientIsDisconnected(t *testing.T) {
	w := start(t, func(c *Config) { c.Timeout = 100 * time.Millisecond })
	c := w.client(tcpstore.Classic)
	c.set(key, string(bytes.Repeat([]byte("x"), 1<<20)))
	go func() { // its write ends when the server closes the connection
		for {
			b, _ := tcpclient.Append(nil, c.dialect, tcpstore.Request{Op: tcpstore.OpGet, Keys: []string{key}})
			if _, err := c.conn.Write(b); err != nil {
				return
			}
		}
	}()
	w.until("the client is disconnected", func() bool {
		return w.server.connections.Load() == 0 && !strings.Contains(w.page("/metrics"), `requests_total{operation="get"} 0`)
	})
}

func TestShutdownClosesAllConnections(t *testing.T) {
	w := start(t, nil)
	idle, waiting := w.client(tcpstore.Classic), w.client(tcpstore.Validated)
	idle.set(key, "1")
	waiting.send(tcpstore.Request{Op: tcpstore.OpWait, Keys: []string{key + "2"}})
	w.until("the server has registered the wait", func() bool { return w.waits() == 1 })
	w.stop()
	idle.gone()
	waiting.gone()
	if err := <-w.ended; err != nil {
		t.Error(err)
	}
}
