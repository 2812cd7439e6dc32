// Package tcpclient encodes the requests of a TCPStore client, for tests and benchmarks.
package tcpclient

import (
	"encoding/binary"
	"fmt"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/tcpstore"
)

// Greeting returns the first message of a connection in the Validated dialect.
func Greeting() []byte { return binary.LittleEndian.AppendUint32([]byte{0}, tcpstore.Magic) }

// Append appends the encoded request, as a client of the dialect sends it. It is the inverse of tcpstore.Reader.
func Append(b []byte, d tcpstore.Dialect, q tcpstore.Request) ([]byte, error) {
	number, err := numberOf(d, q.Op)
	if err != nil {
		return b, err
	}
	b = append(b, number)
	switch q.Op {
	case tcpstore.OpPing:
		return binary.LittleEndian.AppendUint32(b, uint32(q.Number)), nil
	case tcpstore.OpCheck, tcpstore.OpWait, tcpstore.OpMultiGet, tcpstore.OpMultiSet:
		b = binary.LittleEndian.AppendUint64(b, uint64(len(q.Keys)))
	}
	return appendArguments(b, q), nil
}

func numberOf(d tcpstore.Dialect, op tcpstore.Op) (byte, error) {
	for number := range byte(16) {
		if op != tcpstore.OpNone && d.Op(number) == op {
			return number, nil
		}
	}
	return 0, fmt.Errorf("the %s dialect has no operation %s", d, op)
}

func appendArguments(b []byte, q tcpstore.Request) []byte {
	values := q.Values
	for _, key := range q.Keys {
		b = append(b, tcpstore.Value([]byte(key))...)
		if q.Op == tcpstore.OpMultiSet {
			b, values = append(b, tcpstore.Value(values[0])...), values[1:]
		}
	}
	for _, value := range values {
		b = append(b, tcpstore.Value(value)...)
	}
	if q.Op == tcpstore.OpAdd {
		b = binary.LittleEndian.AppendUint64(b, uint64(q.Number))
	}
	return b
}
