package tcpstore

import (
	"encoding/binary"
	"maps"
	"slices"
)

// Op is an operation, independent of its number in a dialect.
type Op int

// Operations.
const (
	OpNone Op = iota
	OpValidate
	OpSet
	OpCompareSet
	OpGet
	OpAdd
	OpCheck
	OpWait
	OpCount
	OpDelete
	OpAppend
	OpMultiGet
	OpMultiSet
	OpCancelWait
	OpPing
)

var names = map[Op]string{
	OpValidate: "validate", OpSet: "set", OpCompareSet: "compare_set", OpGet: "get", OpAdd: "add", OpCheck: "check", OpWait: "wait",
	OpCount: "count", OpDelete: "delete", OpAppend: "append", OpMultiGet: "multi_get", OpMultiSet: "multi_set",
	OpCancelWait: "cancel_wait", OpPing: "ping",
}

func (o Op) String() string { return names[o] }

// Ops returns the supported operations.
func Ops() []Op { return slices.Sorted(maps.Keys(names)) }

// The operations of each dialect by number. OpNone marks an operation that is not supported. In the classic dialect this is the
// subscription to changes of a key (7), which the rendezvous does not use.
var (
	classicOps   = []Op{OpSet, OpCompareSet, OpGet, OpAdd, OpCheck, OpWait, OpCount, OpNone, OpDelete}
	validatedOps = []Op{
		OpValidate, OpSet, OpCompareSet, OpGet, OpAdd, OpCheck, OpWait, OpCount, OpDelete, OpAppend, OpMultiGet, OpMultiSet,
		OpCancelWait, OpPing,
	}
)

// Op returns the operation with the given number, or OpNone if there is none.
func (d Dialect) Op(number byte) Op {
	ops := classicOps
	if d == Validated {
		ops = validatedOps
	}
	if int(number) >= len(ops) {
		return OpNone
	}
	return ops[number]
}

// Request is a message from a client.
type Request struct {
	Op Op
	// Keys contains any number of keys for OpCheck, OpWait, OpMultiGet and OpMultiSet, no key for OpCount, OpCancelWait, OpPing and
	// OpValidate, and one key for the other operations.
	Keys []string
	// Values contains the value of OpSet and OpAppend, the expected and the desired value of OpCompareSet, and one value per key of
	// OpMultiSet.
	Values [][]byte
	// Number is the increment of OpAdd.
	Number int64
	// Nonce is the number that the reply to OpPing must repeat.
	Nonce uint32
}

// Dialect is a version of the TCPStore protocol.
type Dialect int

// Results of Sniff.
const (
	// Unknown is a dialect that is not supported.
	Unknown Dialect = iota
	// Undecided means that SniffLength bytes are needed.
	Undecided
	Classic
	Validated
)

// Dialects returns the supported dialects.
func Dialects() []Dialect { return []Dialect{Classic, Validated} }

// SniffLength is the number of bytes that Sniff needs at most.
const SniffLength = 5

// Magic follows the byte 0 in the greeting of torch 2.3 and later.
const Magic = 0x3C85F7CE

// Sniff determines the dialect of a connection from its first bytes. At least one byte is required.
//
// A classic SET also begins with the byte 0. It is followed by the length of the key, which is much smaller than the magic number.
func Sniff(first []byte) Dialect {
	switch b := first[0]; {
	case b > 0 && int(b) < len(classicOps):
		return Classic
	case b > 0:
		return Unknown
	case len(first) < SniffLength:
		return Undecided
	case binary.LittleEndian.Uint32(first[1:]) == Magic:
		return Validated
	default:
		return Classic
	}
}

func (d Dialect) String() string {
	switch d {
	case Classic:
		return "classic"
	case Validated:
		return "validated"
	default:
		return "unknown"
	}
}

// One-byte replies. The caller must not change them.
var (
	// Ready is the reply to OpCheck if all keys exist, and to OpWait once they do.
	Ready = []byte{0}
	// NotReady is the reply to OpCheck if a key is missing.
	NotReady = []byte{1}
	// Canceled is the reply to OpCancelWait. If the wait completed first, the client receives it after the reply to the wait.
	Canceled = []byte{1}
)

// Value returns the reply to OpGet and OpCompareSet, and one item of the reply to OpMultiGet.
func Value(v []byte) []byte {
	return append(binary.LittleEndian.AppendUint64(make([]byte, 0, 8+len(v)), uint64(len(v))), v...)
}

// Number returns the reply to OpAdd, OpCount and OpDelete.
func Number(n int64) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(n)) }

// Pong returns the reply to OpPing.
func Pong(nonce uint32) []byte { return binary.LittleEndian.AppendUint32(nil, nonce) }
