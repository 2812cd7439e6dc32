package server

import (
	"net"
	"sync"
	"time"
)

// maxPending is how many bytes of replies may wait for a client.
const maxPending = 16 << 20

// outbox writes replies to a client, one after the other, without those that make them having to wait.
type outbox struct {
	conn     net.Conn
	patience time.Duration

	mu      sync.Mutex
	pending []byte
	writing bool
	failed  bool
}

func newOutbox(conn net.Conn, patience time.Duration) *outbox {
	return &outbox{conn: conn, patience: patience}
}

// put returns errSilent if the client has left too much lying.
func (o *outbox) put(reply []byte) error {
	if len(reply) == 0 {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failed || len(o.pending)+len(reply) > maxPending {
		return errSilent
	}
	o.pending = append(o.pending, reply...)
	if !o.writing {
		o.writing = true
		go o.write()
	}
	return nil
}

// write writes until nothing is pending.
func (o *outbox) write() {
	for {
		o.mu.Lock()
		batch := o.pending
		o.pending = nil
		if len(batch) == 0 || o.failed {
			o.writing = false
			o.mu.Unlock()
			return
		}
		o.mu.Unlock()
		_ = o.conn.SetWriteDeadline(time.Now().Add(o.patience))
		if _, err := o.conn.Write(batch); err != nil {
			o.close()
			o.conn.Close()
		}
	}
}

func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failed = true
}
