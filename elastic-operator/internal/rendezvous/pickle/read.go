// Package pickle reads Python pickles (protocols 2 to 5) as data. It never executes code: calls are returned as the name and the arguments.
// It performs no I/O.
package pickle

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// ErrMalformed is returned for input that is not a pickle or uses unsupported opcodes.
var ErrMalformed = errors.New("malformed or unsupported pickle")

// maxOperations limits the memory used for a pickle, because a one-byte operation may allocate 50 bytes. The state of 10,000 agents has
// about 310,000 operations.
const maxOperations = 1 << 19

// mark is the value that the opcode MARK pushes onto the stack.
type mark struct{}

// machine executes the opcodes of a pickle.
type machine struct {
	input []byte
	at    int
	stack []any
	memo  map[uint64]any
}

// Read returns the value of a pickle: nil, Bool, int64, float64, string, []byte, Global, Tuple, *List, *Set, *Dict or *Object. Values may
// contain themselves. Time and memory are proportional to the length of the input. A pickle may have at most maxOperations operations.
func Read(input []byte) (any, error) {
	m := &machine{input: input, memo: map[uint64]any{}}
	for range maxOperations {
		op, err := m.byte()
		if err != nil {
			return nil, err
		}
		if op == '.' {
			return m.pop()
		}
		if err := m.step(op); err != nil {
			return nil, fmt.Errorf("%w at offset %d", err, m.at)
		}
	}
	return nil, fmt.Errorf("%w: more than %d operations", ErrMalformed, maxOperations)
}

// step executes one opcode.
func (m *machine) step(op byte) error {
	if f, ok := framing[op]; ok {
		_, err := m.take(f)
		return err
	}
	if f, ok := constants[op]; ok {
		m.push(f(m.at - 1))
		return nil
	}
	if f, ok := operations[op]; ok {
		return f(m)
	}
	return fmt.Errorf("%w: opcode %#x", ErrMalformed, op)
}

// framing contains the opcodes for the protocol version and frame sizes, with the number of bytes to skip.
var framing = map[byte]int{0x80: 1, 0x95: 8}

// constants contains the opcodes that push a new value. The argument is the offset of the opcode.
var constants = map[byte]func(at int) any{
	'N':     func(int) any { return nil },
	OpTrue:  func(at int) any { return Bool{true, at} },
	OpFalse: func(at int) any { return Bool{false, at} },
	')':     func(int) any { return Tuple{} },
	'}':     func(int) any { return &Dict{} },
	']':     func(int) any { return &List{} },
	0x8f:    func(int) any { return &Set{} },
	'(':     func(int) any { return mark{} },
}

var operations map[byte]func(*machine) error

func init() {
	operations = map[byte]func(*machine) error{
		// numbers
		'K': func(m *machine) error { return m.number(1, func(b []byte) any { return int64(b[0]) }) },
		'M': func(m *machine) error {
			return m.number(2, func(b []byte) any { return int64(binary.LittleEndian.Uint16(b)) })
		},
		'J': func(m *machine) error {
			return m.number(4, func(b []byte) any { return int64(int32(binary.LittleEndian.Uint32(b))) })
		},
		'G': func(m *machine) error {
			return m.number(8, func(b []byte) any { return math.Float64frombits(binary.BigEndian.Uint64(b)) })
		},
		0x8a: long,
		// strings and bytes, by the size of their length
		0x8c: func(m *machine) error { return m.blob(1, text) },
		'X':  func(m *machine) error { return m.blob(4, text) },
		0x8d: func(m *machine) error { return m.blob(8, text) },
		'C':  func(m *machine) error { return m.blob(1, raw) },
		'B':  func(m *machine) error { return m.blob(4, raw) },
		0x8e: func(m *machine) error { return m.blob(8, raw) },
		// collections
		0x85: func(m *machine) error { return m.tuple(1) },
		0x86: func(m *machine) error { return m.tuple(2) },
		0x87: func(m *machine) error { return m.tuple(3) },
		't':  tupleFromMark,
		'a':  appendOne,
		'e':  appendMany,
		's':  setItem,
		'u':  setItems,
		0x90: addItems,
		0x91: frozenSet,
		// memo
		0x94: func(m *machine) error { return m.remember(uint64(len(m.memo))) },
		'q':  func(m *machine) error { return m.indexed(1, m.remember) },
		'r':  func(m *machine) error { return m.indexed(4, m.remember) },
		'h':  func(m *machine) error { return m.indexed(1, m.recall) },
		'j':  func(m *machine) error { return m.indexed(4, m.recall) },
		// classes and instances
		'c':  global,
		0x93: stackGlobal,
		'R':  call,
		0x81: call,
		0x92: callWithKeywords,
		'b':  build,
	}
}

func (m *machine) push(v any) { m.stack = append(m.stack, v) }

func (m *machine) pop() (any, error) {
	if len(m.stack) == 0 {
		return nil, fmt.Errorf("%w: the stack is empty", ErrMalformed)
	}
	v := m.stack[len(m.stack)-1]
	m.stack = m.stack[:len(m.stack)-1]
	if v == any(mark{}) {
		return nil, fmt.Errorf("%w: found a mark instead of a value", ErrMalformed)
	}
	return v, nil
}

// top returns the top of the stack, which the caller changes in place.
func top[T any](m *machine) (T, error) {
	var none T
	if len(m.stack) == 0 {
		return none, fmt.Errorf("%w: the stack is empty", ErrMalformed)
	}
	v, ok := m.stack[len(m.stack)-1].(T)
	if !ok {
		return none, fmt.Errorf("%w: found a value of type %T instead of %T", ErrMalformed, m.stack[len(m.stack)-1], none)
	}
	return v, nil
}

// sinceMark pops the values above the last mark, and the mark.
func (m *machine) sinceMark() ([]any, error) {
	for i := len(m.stack) - 1; i >= 0; i-- {
		if m.stack[i] == any(mark{}) {
			items := append([]any(nil), m.stack[i+1:]...)
			m.stack = m.stack[:i]
			return items, nil
		}
	}
	return nil, fmt.Errorf("%w: the stack has no mark", ErrMalformed)
}

// take consumes n bytes of the input.
func (m *machine) take(n int) ([]byte, error) {
	if n < 0 || n > len(m.input)-m.at {
		return nil, fmt.Errorf("%w: unexpected end", ErrMalformed)
	}
	b := m.input[m.at : m.at+n]
	m.at += n
	return b, nil
}

func (m *machine) byte() (byte, error) {
	b, err := m.take(1)
	if err != nil {
		return 0, err
	}
	return b[0], nil
}

func (m *machine) number(size int, read func([]byte) any) error {
	b, err := m.take(size)
	if err == nil {
		m.push(read(b))
	}
	return err
}

// unsigned reads an unsigned integer of 1, 4 or 8 bytes.
func (m *machine) unsigned(size int) (uint64, error) {
	b, err := m.take(size)
	if err != nil {
		return 0, err
	}
	var wide [8]byte
	copy(wide[:], b)
	return binary.LittleEndian.Uint64(wide[:]), nil
}

func text(b []byte) any { return string(b) }
func raw(b []byte) any  { return append([]byte(nil), b...) }

func (m *machine) blob(size int, kind func([]byte) any) error {
	n, err := m.unsigned(size)
	if err != nil {
		return err
	}
	if n > uint64(len(m.input)) {
		return fmt.Errorf("%w: unexpected end", ErrMalformed)
	}
	b, err := m.take(int(n))
	if err == nil {
		m.push(kind(b))
	}
	return err
}

func (m *machine) indexed(size int, do func(uint64) error) error {
	n, err := m.unsigned(size)
	if err != nil {
		return err
	}
	return do(n)
}

func (m *machine) remember(n uint64) error {
	v, err := top[any](m)
	if err == nil {
		m.memo[n] = v
	}
	return err
}

func (m *machine) recall(n uint64) error {
	v, ok := m.memo[n]
	if !ok {
		return fmt.Errorf("%w: the memo has no entry %d", ErrMalformed, n)
	}
	m.push(v)
	return nil
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

// Global is a class or a function.
type Global struct{ Module, Name string }

// Tuple is a tuple.
type Tuple []any

// List is a list.
type List struct{ Items []any }

// Set is a set or a frozen set.
type Set struct{ Items []any }

// Dict is a dictionary. Its items are in the order of the pickle.
type Dict struct{ Keys, Values []any }

// Get returns the value of the last item with this key.
func (d *Dict) Get(key string) (any, bool) {
	for i := len(d.Keys) - 1; i >= 0; i-- {
		if d.Keys[i] == any(key) {
			return d.Values[i], true
		}
	}
	return nil, false
}

// Object is an instance of a class.
type Object struct {
	Class any // the called class or function
	Args  any // of the call
	State any // nil if none was set
}

// Attribute returns an attribute of an instance whose state is a dictionary.
func (o *Object) Attribute(name string) (any, bool) {
	d, ok := o.State.(*Dict)
	if !ok {
		return nil, false
	}
	return d.Get(name)
}
