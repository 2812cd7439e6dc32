package tcpstore

import (
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

// Op returns the operation with a number; OpNone if there is none.
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
