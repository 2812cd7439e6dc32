// Package tcpstore encodes and decodes the messages of torch's TCPStore, the store behind the c10d rendezvous. It performs no I/O except on
// the given reader.
//
// A message is an operation (one byte) and its arguments. Numbers are little-endian. A string or value is its length (8 bytes) and its
// bytes. A list is its length (8 bytes) and its items. Messages have no delimiter, so a malformed message ends the connection.
//
// Two dialects are supported. The first bytes of a connection identify the dialect:
//
//	Classic    torch 1.13 and similar versions: no greeting, operations are numbered from SET = 0
//	Validated  torch 2.3 and later: a greeting of the byte 0 and a magic number, operations are numbered from VALIDATE = 0
//
// The end-to-end tests run torch 1.13.1 (Classic) and torch 2.6.0 (Validated).
package tcpstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Errors that end a connection.
var (
	ErrTooLarge     = errors.New("the message is too large")
	ErrNotServed    = errors.New("the operation is not supported")
	ErrBadMagic     = errors.New("the greeting has a wrong magic number")
	ErrBadPlacement = errors.New("the greeting is missing or is not the first message")
)

// Limits contains the maximum sizes of a message.
type Limits struct {
	Key   int // bytes of a key
	Value int // bytes of a value
	Keys  int // keys of a list
	Total int // bytes of a message
}

// Reader decodes the messages of one connection.
type Reader struct {
	source  io.Reader
	dialect Dialect
	limits  Limits
	greeted bool
	left    int // bytes of the current message that remain of limits.Total
}

// NewReader returns a reader for the dialect, which must be Classic or Validated. The source should be buffered.
func NewReader(source io.Reader, d Dialect, l Limits) *Reader {
	return &Reader{source: source, dialect: d, limits: l}
}

// Next reads one message. It returns io.EOF if the client has disconnected between messages. After any other error the connection must be
// closed. Memory is allocated for received bytes only, not for the lengths that a client announces.
func (r *Reader) Next() (Request, error) {
	r.left = r.limits.Total
	var number [1]byte
	if _, err := io.ReadFull(r.source, number[:]); err != nil {
		return Request{}, err
	}
	op := r.dialect.Op(number[0])
	q := Request{Op: op}
	if err := r.arguments(&q); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return Request{}, fmt.Errorf("operation %d: %w", number[0], err)
	}
	return q, r.checkGreeting(op)
}

// checkGreeting returns an error if a required greeting is missing, or a greeting is not the first message.
func (r *Reader) checkGreeting(op Op) error {
	first := !r.greeted
	r.greeted = true
	required := first && r.dialect == Validated
	if required != (op == OpValidate) {
		return ErrBadPlacement
	}
	return nil
}

func (r *Reader) arguments(q *Request) error {
	switch q.Op {
	case OpValidate:
		return r.greeting()
	case OpSet, OpAppend:
		return each(q, r.key, r.value)
	case OpCompareSet:
		return each(q, r.key, r.value, r.value)
	case OpGet, OpDelete:
		return r.key(q)
	case OpAdd:
		if err := r.key(q); err != nil {
			return err
		}
		n, err := r.uint64()
		q.Number = int64(n)
		return err
	case OpCheck, OpWait, OpMultiGet:
		return r.list(q, r.key)
	case OpMultiSet:
		return r.list(q, func(q *Request) error { return each(q, r.key, r.value) })
	case OpCount, OpCancelWait:
		return nil
	case OpPing:
		n, err := r.uint32()
		q.Nonce = n
		return err
	default:
		return ErrNotServed
	}
}

// each reads the items in order until one fails.
func each(q *Request, items ...func(*Request) error) error {
	for _, item := range items {
		if err := item(q); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reader) greeting() error {
	n, err := r.uint32()
	if err == nil && n != Magic {
		return ErrBadMagic
	}
	return err
}

func (r *Reader) list(q *Request, item func(*Request) error) error {
	n, err := r.uint64()
	if err != nil {
		return err
	}
	if n > uint64(r.limits.Keys) {
		return fmt.Errorf("%w: %d keys", ErrTooLarge, n)
	}
	for range n {
		if err := item(q); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reader) key(q *Request) error {
	b, err := r.bytes(r.limits.Key)
	if err == nil {
		q.Keys = append(q.Keys, string(b))
	}
	return err
}

func (r *Reader) value(q *Request) error {
	b, err := r.bytes(r.limits.Value)
	if err == nil {
		q.Values = append(q.Values, b)
	}
	return err
}

func (r *Reader) bytes(limit int) ([]byte, error) {
	n, err := r.uint64()
	if err != nil {
		return nil, err
	}
	if n > uint64(limit) || n > uint64(r.left) {
		return nil, fmt.Errorf("%w: %d bytes", ErrTooLarge, n)
	}
	r.left -= int(n)
	var b bytes.Buffer
	b.Grow(min(int(n), 64<<10))
	if _, err := io.CopyN(&b, r.source, int64(n)); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func (r *Reader) uint64() (uint64, error) {
	var b [8]byte
	_, err := io.ReadFull(r.source, b[:])
	return binary.LittleEndian.Uint64(b[:]), err
}

func (r *Reader) uint32() (uint32, error) {
	var b [4]byte
	_, err := io.ReadFull(r.source, b[:])
	return binary.LittleEndian.Uint32(b[:]), err
}
