package server

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/tcpstore"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/testing/tcpclient"
)

// patience limits how long a test waits. It is much longer than any operation takes.
const patience = 20 * time.Second

// world is a server on the loopback interface.
type world struct {
	testing.TB
	server  *Server
	address string
	stop    context.CancelFunc
	ended   chan error
}

func start(t testing.TB, change func(*Config)) *world {
	t.Helper()
	c := Defaults()
	c.Grace = 0
	c.RunID = "uid"
	if change != nil {
		change(&c)
	}
	s := New(c)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	w := &world{TB: t, server: s, address: l.Addr().String(), stop: stop, ended: make(chan error, 1)}
	go func() { w.ended <- s.Serve(ctx, l) }()
	t.Cleanup(stop)
	return w
}

// client is a TCPStore client.
type client struct {
	testing.TB
	conn    net.Conn
	r       *bufio.Reader
	dialect tcpstore.Dialect
}

func (w *world) client(d tcpstore.Dialect) *client {
	w.Helper()
	conn, err := net.Dial("tcp", w.address)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	c := &client{w.TB, conn, bufio.NewReader(conn), d}
	if d == tcpstore.Validated {
		c.raw(tcpclient.Greeting())
	}
	return c
}

func (c *client) raw(b []byte) {
	c.Helper()
	if _, err := c.conn.Write(b); err != nil {
		c.Fatal(err)
	}
}

func (c *client) send(q tcpstore.Request) {
	c.Helper()
	b, err := tcpclient.Append(nil, c.dialect, q)
	if err != nil {
		c.Fatal(err)
	}
	c.raw(b)
}

func (c *client) bytes(n int) []byte {
	c.Helper()
	b := make([]byte, n)
	if _, err := io.ReadFull(c.r, b); err != nil {
		c.Fatal(err)
	}
	return b
}

func (c *client) value() string {
	c.Helper()
	return string(c.bytes(int(binary.LittleEndian.Uint64(c.bytes(8)))))
}

func (c *client) number() int64 {
	c.Helper()
	return int64(binary.LittleEndian.Uint64(c.bytes(8)))
}

func (c *client) set(key, value string) {
	c.Helper()
	c.send(tcpstore.Request{Op: tcpstore.OpSet, Keys: []string{key}, Values: [][]byte{[]byte(value)}})
}

func (c *client) get(key string) string {
	c.Helper()
	c.send(tcpstore.Request{Op: tcpstore.OpWait, Keys: []string{key}})
	c.bytes(1)
	c.send(tcpstore.Request{Op: tcpstore.OpGet, Keys: []string{key}})
	return c.value()
}

func (c *client) compareSet(key, expected, desired string) string {
	c.Helper()
	c.send(tcpstore.Request{Op: tcpstore.OpCompareSet, Keys: []string{key}, Values: [][]byte{[]byte(expected), []byte(desired)}})
	return c.value()
}

// gone waits until the connection is closed.
func (c *client) gone() {
	c.Helper()
	if b, err := c.r.ReadByte(); err == nil {
		c.Errorf("the connection is still open, and the server sent %d", b)
	} else if e, ok := err.(net.Error); ok && e.Timeout() {
		c.Error("the connection is still open")
	}
}

// page returns a response from the metrics port.
func (w *world) page(path string) string {
	w.Helper()
	recorder := httptest.NewRecorder()
	w.server.Handler().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, path, nil))
	if recorder.Code != http.StatusOK {
		w.Fatalf("%s returned status %d", path, recorder.Code)
	}
	return recorder.Body.String()
}

func (w *world) job() Status { return w.server.Status() }

// until waits for an effect that causes no notification.
func (w *world) until(what string, holds func() bool) {
	w.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			w.Fatalf("timed out waiting until %s", what)
		}
	}
}
