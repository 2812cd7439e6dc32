// Package pickle reads Python pickles (protocols 2 to 5) as data. It never executes code: calls are returned as their arguments. It
// performs no I/O.
package pickle

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrMalformed is returned for input that is not a pickle or uses unsupported opcodes.
var ErrMalformed = errors.New("malformed or unsupported pickle")

// maxOperations limits the memory used for a pickle, because a one-byte operation may allocate 50 bytes. The state of 10,000 agents has
// about 310,000 operations.
const maxOperations = 1 << 19

// mark is the value that the MARK opcode pushes onto the stack.
type mark struct{}

// machine executes the opcodes of a pickle. Its methods panic with malformed if the input is invalid.
type machine struct {
	input []byte
	at    int
	stack []any
	memo  map[uint64]any
}

// malformed is the panic value that describes what is wrong with the input. Read recovers it.
type malformed string

func fail(format string, args ...any) { panic(malformed(fmt.Sprintf(format, args...))) }

// Read returns the value of a pickle: nil, Bool, int64, float64, string, []byte, Global, Tuple, *List, *Dict or *Object. Values may
// contain themselves. Time and memory are proportional to the length of the input. A pickle may have at most maxOperations operations.
func Read(input []byte) (value any, err error) {
	m := &machine{input: input, memo: map[uint64]any{}}
	defer func() {
		switch problem := recover().(type) {
		case nil:
		case malformed:
			value, err = nil, fmt.Errorf("%w: %s at offset %d", ErrMalformed, string(problem), m.at)
		default:
			panic(problem)
		}
	}()
	for range maxOperations {
		op := m.take(1)[0]
		if op == '.' {
			return m.pop(), nil
		}
		operation, ok := operations[op]
		if !ok {
			fail("opcode %#x", op)
		}
		operation(m)
	}
	return nil, fmt.Errorf("%w: more than %d operations", ErrMalformed, maxOperations)
}

// operations contains the supported opcodes.
var operations = map[byte]func(*machine){
	// protocol version and frame size, which are not needed
	0x80: func(m *machine) { m.take(1) },
	0x95: func(m *machine) { m.take(8) },
	// new values
	'N':     func(m *machine) { m.push(nil) },
	OpTrue:  func(m *machine) { m.push(Bool{true, m.at - 1}) },
	OpFalse: func(m *machine) { m.push(Bool{false, m.at - 1}) },
	')':     func(m *machine) { m.push(Tuple{}) },
	'}':     func(m *machine) { m.push(&Dict{}) },
	']':     func(m *machine) { m.push(&List{}) },
	0x8f:    func(m *machine) { m.push(&List{}) },
	'(':     func(m *machine) { m.push(mark{}) },
	// numbers
	'K':  func(m *machine) { m.push(int64(m.take(1)[0])) },
	'M':  func(m *machine) { m.push(int64(binary.LittleEndian.Uint16(m.take(2)))) },
	'J':  func(m *machine) { m.push(int64(int32(binary.LittleEndian.Uint32(m.take(4))))) },
	'G':  func(m *machine) { m.push(math.Float64frombits(binary.BigEndian.Uint64(m.take(8)))) },
	0x8a: long,
	// strings and bytes, by the size of their length field
	0x8c: func(m *machine) { m.push(string(m.blob(1))) },
	'X':  func(m *machine) { m.push(string(m.blob(4))) },
	0x8d: func(m *machine) { m.push(string(m.blob(8))) },
	'C':  func(m *machine) { m.push(bytes.Clone(m.blob(1))) },
	'B':  func(m *machine) { m.push(bytes.Clone(m.blob(4))) },
	0x8e: func(m *machine) { m.push(bytes.Clone(m.blob(8))) },
	// collections
	0x85: func(m *machine) { m.tuple(1) },
	0x86: func(m *machine) { m.tuple(2) },
	0x87: func(m *machine) { m.tuple(3) },
	't':  func(m *machine) { m.push(Tuple(m.sinceMark())) },
	'a':  func(m *machine) { m.extend([]any{m.pop()}) },
	'e':  func(m *machine) { m.extend(m.sinceMark()) },
	's':  setItem,
	'u':  func(m *machine) { m.assign(m.sinceMark()) },
	0x90: func(m *machine) { m.extend(m.sinceMark()) },
	0x91: func(m *machine) { m.push(&List{Items: m.sinceMark()}) },
	// memo
	0x94: func(m *machine) { m.remember(uint64(len(m.memo))) },
	'q':  func(m *machine) { m.remember(m.unsigned(1)) },
	'r':  func(m *machine) { m.remember(m.unsigned(4)) },
	'h':  func(m *machine) { m.recall(m.unsigned(1)) },
	'j':  func(m *machine) { m.recall(m.unsigned(4)) },
	// classes and instances
	'c':  global,
	0x93: func(m *machine) { m.pop(); m.pop(); m.push(Global{}) }, // its module and name are on the stack
	'R':  call,
	0x81: call,
	0x92: func(m *machine) { m.pop(); call(m) }, // ignores the keyword arguments, which torch's state does not use
	'b':  build,
}

func (m *machine) push(v any) { m.stack = append(m.stack, v) }

func (m *machine) pop() any {
	if len(m.stack) == 0 {
		fail("the stack is empty")
	}
	v := m.stack[len(m.stack)-1]
	m.stack = m.stack[:len(m.stack)-1]
	if v == any(mark{}) {
		fail("found a mark instead of a value")
	}
	return v
}

// top returns the top of the stack, which the caller changes in place.
func top[T any](m *machine) T {
	if len(m.stack) == 0 {
		fail("the stack is empty")
	}
	v, ok := m.stack[len(m.stack)-1].(T)
	if !ok {
		fail("found a value of type %T instead of %T", m.stack[len(m.stack)-1], v)
	}
	return v
}

// sinceMark pops the values above the last mark, and the mark itself.
func (m *machine) sinceMark() []any {
	i := len(m.stack) - 1
	for i >= 0 && m.stack[i] != any(mark{}) {
		i--
	}
	if i < 0 {
		fail("the stack has no mark")
	}
	items := slices.Clone(m.stack[i+1:])
	m.stack = m.stack[:i]
	return items
}

// take consumes n bytes of the input.
func (m *machine) take(n int) []byte {
	if n < 0 || n > len(m.input)-m.at {
		fail("unexpected end")
	}
	b := m.input[m.at : m.at+n]
	m.at += n
	return b
}

// unsigned reads an unsigned integer of 1, 4 or 8 bytes.
func (m *machine) unsigned(size int) uint64 {
	var wide [8]byte
	copy(wide[:], m.take(size))
	return binary.LittleEndian.Uint64(wide[:])
}

// blob reads a length field of the given size, and then that number of bytes.
func (m *machine) blob(size int) []byte {
	return m.take(int(min(m.unsigned(size), math.MaxInt)))
}

func (m *machine) remember(n uint64) { m.memo[n] = top[any](m) }

func (m *machine) recall(n uint64) {
	v, ok := m.memo[n]
	if !ok {
		fail("the memo has no entry %d", n)
	}
	m.push(v)
}

// Bool is a Python bool.
type Bool struct {
	Value bool
	At    int // offset of its opcode in the pickle
}

// Opcodes of bools.
const (
	OpTrue  = 0x88
	OpFalse = 0x89
)

// Global is a class or a function, whose name is not needed.
type Global struct{}

// Tuple is a tuple.
type Tuple []any

// List is a list, a set or a frozen set.
type List struct{ Items []any }

// Dict is a dictionary. Its items are in the order of the pickle.
type Dict struct{ Keys, Values []any }

// Object is an instance of a class.
type Object struct {
	Args  any // of the call that created it
	State any // nil if none was set
}

// Attribute returns an attribute of an instance whose state is a dictionary, or nil. Of several with the same name, it returns the last.
func (o *Object) Attribute(name string) any {
	d, ok := o.State.(*Dict)
	if !ok {
		return nil
	}
	for i, key := range slices.Backward(d.Keys) {
		if key == any(name) {
			return d.Values[i]
		}
	}
	return nil
}
