package tcpstore

import (
	"maps"
	"slices"
)

// Op is what a client asks for, whatever its dialect counts it as.
type Op int

// The operations.
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

// Ops are the operations that are served.
func Ops() []Op { return slices.Sorted(maps.Keys(names)) }

// Each dialect's operations by their number. OpNone is one that is not served: of the classic dialect the subscription to changes of
// a key (7), which the rendezvous does not use.
var (
	classicOps   = []Op{OpSet, OpCompareSet, OpGet, OpAdd, OpCheck, OpWait, OpCount, OpNone, OpDelete}
	validatedOps = []Op{
		OpValidate, OpSet, OpCompareSet, OpGet, OpAdd, OpCheck, OpWait, OpCount, OpDelete, OpAppend, OpMultiGet, OpMultiSet,
		OpCancelWait, OpPing,
	}
)

func (d Dialect) op(number byte) Op {
	ops := classicOps
	if d == Validated {
		ops = validatedOps
	}
	if int(number) >= len(ops) {
		return OpNone
	}
	return ops[number]
}

// Request is one message of a client.
type Request struct {
	Op Op
	// Keys are those it is about: one but for OpCheck, OpWait, OpMultiGet and OpMultiSet, and none for OpCount, OpCancelWait, OpPing.
	Keys []string
	// Values of OpSet and OpAppend: the value. Of OpCompareSet: the expected one, then the desired one. Of OpMultiSet: one for each key.
	Values [][]byte
	// Number is OpAdd's increment.
	Number int64
	// Nonce is what OpPing wants back.
	Nonce uint32
}
