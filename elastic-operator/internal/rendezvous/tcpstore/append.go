package tcpstore

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Greeting returns the first message of a connection in the Validated dialect.
func Greeting() []byte { return binary.LittleEndian.AppendUint32([]byte{0}, magic) }

// Append appends the encoded request, as a client of the dialect sends it. It is the inverse of Reader, for clients and tests.
func Append(b []byte, d Dialect, q Request) ([]byte, error) {
	ops := classicOps
	if d == Validated {
		ops = validatedOps
	}
	number := slices.Index(ops, q.Op)
	if number < 0 || q.Op == OpNone {
		return b, fmt.Errorf("the %s dialect has no %s", d, q.Op)
	}
	b = append(b, byte(number))
	switch q.Op {
	case OpValidate:
		return binary.LittleEndian.AppendUint32(b, magic), nil
	case OpPing:
		return binary.LittleEndian.AppendUint32(b, q.Nonce), nil
	case OpCheck, OpWait, OpMultiGet, OpMultiSet:
		b = binary.LittleEndian.AppendUint64(b, uint64(len(q.Keys)))
	}
	return appendArguments(b, q), nil
}

func appendArguments(b []byte, q Request) []byte {
	values := q.Values
	for _, key := range q.Keys {
		b = append(b, Value([]byte(key))...)
		if q.Op == OpMultiSet {
			b, values = append(b, Value(values[0])...), values[1:]
		}
	}
	for _, value := range values {
		b = append(b, Value(value)...)
	}
	if q.Op == OpAdd {
		b = binary.LittleEndian.AppendUint64(b, uint64(q.Number))
	}
	return b
}
