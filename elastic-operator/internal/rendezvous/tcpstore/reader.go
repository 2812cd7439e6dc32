// Package tcpstore encodes and decodes the messages of torch's TCPStore, the store behind the c10d rendezvous. It performs no I/O except on
// the given reader.
//
// A message is an operation (one byte) and its arguments. Numbers are little-endian. A string or value consists of its length (8 bytes) and
// its bytes. A list consists of its length (8 bytes) and its items. Messages have no delimiter, so a malformed message ends the connection.
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
	ErrTooLarge  = errors.New("the message is too large")
	ErrNotServed = errors.New("the operation is not supported")
)

const (
	maxKey  = 4 << 10  // bytes of a key
	maxKeys = 16 << 10 // keys in a list
)

// Reader decodes the messages of one connection.
type Reader struct {
	source  io.Reader
	dialect Dialect
	maxSize int   // of a value in bytes
	left    int   // bytes of keys and values that the current message may still have
	err     error // error in the current message, which is then the last one
}

// NewReader returns a reader for the messages after the greeting. The dialect must be Classic or Validated. maxSize is the maximum size of a
// value in bytes. A message may be as large as two values. The source should be buffered.
func NewReader(source io.Reader, d Dialect, maxSize int) *Reader {
	return &Reader{source: source, dialect: d, maxSize: maxSize}
}

// Next reads one message. It returns io.EOF if the client has disconnected between messages. After any other error the connection must be
// closed. Memory is allocated for received bytes only, not for the lengths that a client announces.
func (r *Reader) Next() (Request, error) {
	r.left = 2 * r.maxSize
	var op [1]byte
	if _, err := io.ReadFull(r.source, op[:]); err != nil {
		return Request{}, err
	}
	q := Request{Op: r.dialect.Op(op[0])}
	r.arguments(&q)
	if r.err != nil {
		if errors.Is(r.err, io.EOF) {
			r.err = io.ErrUnexpectedEOF
		}
		return Request{}, fmt.Errorf("operation %d: %w", op[0], r.err)
	}
	return q, nil
}

// arguments reads the arguments of an operation. After an error, the methods that it calls read nothing.
func (r *Reader) arguments(q *Request) {
	switch q.Op {
	case OpGet, OpDelete:
		r.key(q)
	case OpSet:
		r.key(q)
		r.value(q)
	case OpCompareSet:
		r.key(q)
		r.value(q)
		r.value(q)
	case OpAdd:
		r.key(q)
		q.Number = int64(number[uint64](r))
	case OpCheck, OpWait, OpMultiGet, OpMultiSet:
		r.list(q)
	case OpPing:
		q.Number = int64(number[uint32](r))
	case OpCancelWait:
	default:
		r.fail(ErrNotServed)
	}
}

// fail records the first error of a message.
func (r *Reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// list reads any number of keys, each with a value for OpMultiSet.
func (r *Reader) list(q *Request) {
	n := number[uint64](r)
	if n > maxKeys {
		r.fail(fmt.Errorf("%w: %d keys", ErrTooLarge, n))
		return
	}
	for range n {
		r.key(q)
		if q.Op == OpMultiSet {
			r.value(q)
		}
	}
}

func (r *Reader) key(q *Request) { q.Keys = append(q.Keys, string(r.bytes(maxKey))) }

func (r *Reader) value(q *Request) { q.Values = append(q.Values, r.bytes(r.maxSize)) }

func (r *Reader) bytes(limit int) []byte {
	n := number[uint64](r)
	if n > uint64(limit) || n > uint64(r.left) {
		r.fail(fmt.Errorf("%w: %d bytes", ErrTooLarge, n))
	}
	if r.err != nil {
		return nil
	}
	r.left -= int(n)
	var b bytes.Buffer // grows as bytes arrive; its capacity may exceed the value
	_, r.err = io.CopyN(&b, r.source, int64(n))
	return bytes.Clone(b.Bytes())
}

func number[T uint32 | uint64](r *Reader) (n T) {
	if r.err == nil {
		r.err = binary.Read(r.source, binary.LittleEndian, &n)
	}
	return n
}
