package tcpstore

import "encoding/binary"

// Op is the name of an operation, independent of its number in a dialect.
type Op string

// Operations.
const (
	OpNone       Op = ""
	OpSet        Op = "set"
	OpCompareSet Op = "compare_set"
	OpGet        Op = "get"
	OpAdd        Op = "add"
	OpCheck      Op = "check"
	OpWait       Op = "wait"
	OpDelete     Op = "delete"
	OpMultiGet   Op = "multi_get"
	OpMultiSet   Op = "multi_set"
	OpCancelWait Op = "cancel_wait"
	OpPing       Op = "ping"
)

// Ops contains the operations of each dialect by number. OpNone marks operations that the rendezvous does not use: counting keys (6 in
// Classic, 7 in Validated), subscribing to changes (7 in Classic) and appending to a value (9). Number 0 of Validated is the greeting.
var Ops = map[Dialect][]Op{
	Classic: {OpSet, OpCompareSet, OpGet, OpAdd, OpCheck, OpWait, OpNone, OpNone, OpDelete},
	Validated: {
		OpNone, OpSet, OpCompareSet, OpGet, OpAdd, OpCheck, OpWait, OpNone, OpDelete, OpNone, OpMultiGet, OpMultiSet, OpCancelWait, OpPing,
	},
}

// Op returns the operation with the given number, or OpNone if there is none.
func (d Dialect) Op(number byte) Op {
	if int(number) >= len(Ops[d]) {
		return OpNone
	}
	return Ops[d][number]
}

// Request is a message from a client.
type Request struct {
	Op Op
	// Keys contains any number of keys for OpCheck, OpWait, OpMultiGet and OpMultiSet, no key for OpCancelWait and OpPing, and one key for
	// the other operations.
	Keys []string
	// Values contains the value of OpSet, the expected and the desired value of OpCompareSet, and one value per key of OpMultiSet.
	Values [][]byte
	// Number is the increment of OpAdd, or the 32-bit number that the reply to OpPing must repeat.
	Number int64
}

// Dialect is the name of a version of the TCPStore protocol.
type Dialect string

// Results of Sniff.
const (
	// Unknown is a dialect that is not supported.
	Unknown Dialect = "unknown"
	// Undecided means that SniffLength bytes are needed.
	Undecided Dialect = "undecided"
	Classic   Dialect = "classic"
	Validated Dialect = "validated"
)

// SniffLength is the maximum number of bytes that Sniff needs.
const SniffLength = 5

// Magic follows the byte 0 in the greeting of torch 2.3 and later.
const Magic = 0x3C85F7CE

// Sniff determines the dialect of a connection from its first bytes. At least one byte is required.
//
// A classic SET also begins with the byte 0. It is followed by the length of the key, which is much smaller than the magic number.
func Sniff(first []byte) Dialect {
	switch b := first[0]; {
	case b > 0 && int(b) < len(Ops[Classic]):
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

// Number returns the reply to OpAdd and OpDelete.
func Number(n int64) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(n)) }

// Pong returns the reply to OpPing.
func Pong(number int64) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(number)) }
