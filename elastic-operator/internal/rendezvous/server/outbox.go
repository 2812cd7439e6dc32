package server

import (
	"net"
	"sync"
	"time"
)

// maxPending limits the unsent replies to a client, in bytes.
const maxPending = 16 << 20

// outbox sends replies to a client in order, without blocking the caller.
type outbox struct {
	conn    net.Conn
	timeout time.Duration

	mu      sync.Mutex
	pending []byte
	writing bool
	failed  bool
}

// put queues a reply. It returns errSlow if the client has not read too many of its replies.
func (o *outbox) put(reply []byte) error {
	if len(reply) == 0 {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failed || len(o.pending)+len(reply) > maxPending {
		return errSlow
	}
	o.pending = append(o.pending, reply...)
	if !o.writing {
		o.writing = true
		go o.write()
	}
	return nil
}

// write sends replies until none are pending.
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
		_ = o.conn.SetWriteDeadline(time.Now().Add(o.timeout))
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
