package valkey

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// queue simulates a server that serves other clients first: it forwards each connection's bytes after a delay.
type queue struct {
	address  string
	server   string
	delay    func(connection int64) time.Duration // counted from 1
	accepted atomic.Int64
	used     atomic.Int64 // connections on which the client has sent something
}

func newQueue(t *testing.T, server string, delay func(connection int64) time.Duration) *queue {
	t.Helper()
	q := &queue{address: freeAddress(t), server: server, delay: delay}
	q.open(t)
	return q
}

func (q *queue) open(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", q.address)
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			n := q.accepted.Add(1)
			serving.Go(func() { q.serve(ctx, conn, n) })
		}
	})
	t.Cleanup(func() { l.Close(); cancel(); serving.Wait() })
}

func (q *queue) serve(ctx context.Context, conn net.Conn, n int64) {
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	first := make([]byte, 1)
	if _, err := io.ReadFull(conn, first); err != nil {
		return
	}
	q.used.Add(1)
	sleep(ctx, q.delay(n))
	server, err := net.Dial("tcp", q.server)
	if err != nil {
		return
	}
	defer server.Close()
	if _, err := server.Write(first); err != nil {
		return
	}
	go func() {
		_, _ = io.Copy(conn, server)
		conn.Close()
	}()
	_, _ = io.Copy(server, conn)
}

func (q *queue) store(t *testing.T, cert string) *Store {
	t.Helper()
	o := Options{
		Address: q.address, TLS: TLSFiles{CA: cert}, Timeout: time.Second, Resync: time.Hour, PingInterval: time.Hour, MaxBackoff: 200 * time.Millisecond,
	}
	store, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// After a restart of the store, its thread is busy with the handshakes of thousands of agents. An agent that did not wait for its own
// handshake would only add to the work.
func TestHandshakeIsWaitedFor(t *testing.T) {
	cert, key := pair(t, "store")
	for name, delays := range map[string][]time.Duration{
		"of the subscription":         {3 * time.Second, 0},
		"of the connection for calls": {0, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := newQueue(t, newTLSServer(t, cert, key).address, func(n int64) time.Duration { return delays[min(n, 2)-1] })
			w := watchGroup(t, q.store(t, cert), uid)
			all := w.awaitCount(t, 2)
			if !isLoss(all[0]) || !all[1].Read {
				t.Errorf("observations %+v, want a loss and a read", all)
			}
			if n := q.accepted.Load(); n != 2 {
				t.Errorf("%d connections, want 2", n)
			}
		})
	}
}

// A store that accepts connections and never answers is reported while the agent keeps waiting on the same connection.
func TestStoreThatNeverAnswersIsReported(t *testing.T) {
	cert, _ := pair(t, "store")
	q := newQueue(t, "", func(int64) time.Duration { return time.Hour })
	store := q.store(t, cert)
	w := watchGroup(t, store, uid)
	if first := w.awaitCount(t, 1)[0]; !isLoss(first) {
		t.Errorf("observation %+v, want a loss", first)
	}
	calling, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := store.Observe(calling, uid, slotOf(0)).Err; err == nil || calling.Err() == nil {
		t.Errorf("a call: %v, want a timeout", err)
	}
	if n := q.accepted.Load(); n != 2 { // the subscription, and the connection for calls
		t.Errorf("%d connections, want 2", n)
	}
}

// A go-redis pool that could not connect retries once a second, and closes the connection when that succeeds.
func TestProbeOfAPoolMakesNoHandshake(t *testing.T) {
	cert, key := pair(t, "store")
	server := newTLSServer(t, cert, key)
	q := &queue{address: freeAddress(t), server: server.address, delay: func(int64) time.Duration { return 0 }}
	store := q.store(t, cert)
	if _, err := store.Tidy(t.Context()); err == nil {
		t.Fatal("a call to a stopped server succeeded")
	}
	q.open(t)
	deadline := time.Now().Add(patience)
	for _, err := store.Tidy(t.Context()); err != nil; _, err = store.Tidy(t.Context()) {
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	if accepted, used := q.accepted.Load(), q.used.Load(); accepted != 2 || used != 1 {
		t.Errorf("%d connections, %d with a handshake; want 2, one of them with a handshake", accepted, used)
	}
}
