package state

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// maxOperations limits the memory used for a pickle, because a one-byte operation may allocate 50 bytes. The state of 10,000 agents has
// about 310,000 operations.
const maxOperations = 1 << 19

// machine reads a Python pickle (protocols 2 to 5), which is a program for a stack machine, as data. It never executes code: a call is
// returned as its arguments. Values that no field of State needs are nil: bytes, classes, floats, and integers of more than 32 bits.
type machine struct {
	input []byte
	at    int
	stack []any
	memo  map[uint64]any
}

// boolean is a bool.
type boolean struct {
	value bool
	at    int // offset of its opcode in the pickle
}

// Opcodes of bools.
const (
	opTrue  = 0x88
	opFalse = 0x89
)

// mark is the value that the MARK opcode pushes onto the stack.
type mark struct{}

// collection is a tuple, a list, a set or a dictionary. The items of a dictionary are its keys, each followed by its value.
type collection struct {
	items      []any
	dictionary bool
}

// instance is an instance of a class.
type instance struct {
	args  any // of the call that created it
	state any // nil if none was set
}

// attribute returns an attribute of an instance whose state is a dictionary, or nil. Of several with the same name, it returns the last.
func (o *instance) attribute(name string) (value any) {
	if d, ok := o.state.(*collection); ok {
		for i := 0; i+1 < len(d.items); i += 2 {
			if d.items[i] == any(name) {
				value = d.items[i+1]
			}
		}
	}
	return value
}

// read returns the value of a pickle: nil, boolean, int64, string, *collection or *instance. Values may contain themselves. Time and memory
// are proportional to the length of the input. An operation panics if the input is invalid, for example when it takes the top of an empty
// stack. read returns every panic as an error, because a crash of the server would restart all workers.
func read(input []byte) (value any, err error) {
	m := &machine{input: input, memo: map[uint64]any{}}
	defer func() {
		if problem := recover(); problem != nil {
			value, err = nil, fmt.Errorf("offset %d of the pickle: %v", m.at, problem)
		}
	}()
	for range maxOperations {
		op := m.take(1)[0]
		if op == '.' {
			return m.pop(1)[0], nil
		}
		operation, ok := operations[op]
		if !ok {
			return nil, fmt.Errorf("offset %d of the pickle: unsupported opcode %#x", m.at, op)
		}
		operation(m)
	}
	return nil, fmt.Errorf("the pickle has more than %d operations", maxOperations)
}

// operations contains the supported opcodes.
var operations = map[byte]func(*machine){
	// protocol version and frame size, which are not needed
	0x80: func(m *machine) { m.take(1) },
	0x95: func(m *machine) { m.take(8) },
	// new values
	'N':     func(m *machine) { m.push(nil) },
	opTrue:  func(m *machine) { m.push(boolean{true, m.at - 1}) },
	opFalse: func(m *machine) { m.push(boolean{false, m.at - 1}) },
	')':     func(m *machine) { m.push(&collection{}) },
	'}':     func(m *machine) { m.push(&collection{dictionary: true}) },
	']':     func(m *machine) { m.push(&collection{}) },
	0x8f:    func(m *machine) { m.push(&collection{}) },
	'(':     func(m *machine) { m.push(mark{}) },
	// integers
	'K': func(m *machine) { m.push(int64(m.unsigned(1))) },
	'M': func(m *machine) { m.push(int64(m.unsigned(2))) },
	'J': func(m *machine) { m.push(int64(int32(m.unsigned(4)))) },
	// strings, by the size of their length field
	0x8c: func(m *machine) { m.push(string(m.take(m.unsigned(1)))) },
	'X':  func(m *machine) { m.push(string(m.take(m.unsigned(4)))) },
	// floats, longer integers and bytes
	'G':  func(m *machine) { m.skip(8) },
	0x8a: func(m *machine) { m.skip(m.unsigned(1)) },
	'C':  func(m *machine) { m.skip(m.unsigned(1)) },
	'B':  func(m *machine) { m.skip(m.unsigned(4)) },
	// collections
	0x85: func(m *machine) { m.push(&collection{items: m.pop(1)}) },
	0x86: func(m *machine) { m.push(&collection{items: m.pop(2)}) },
	0x87: func(m *machine) { m.push(&collection{items: m.pop(3)}) },
	't':  func(m *machine) { m.push(&collection{items: m.sinceMark()}) },
	0x91: func(m *machine) { m.push(&collection{items: m.sinceMark()}) },
	'a':  func(m *machine) { m.extend(m.pop(1)) },
	's':  func(m *machine) { m.extend(m.pop(2)) },
	'e':  func(m *machine) { m.extend(m.sinceMark()) },
	'u':  func(m *machine) { m.extend(m.sinceMark()) },
	0x90: func(m *machine) { m.extend(m.sinceMark()) },
	// memo
	0x94: func(m *machine) { m.memo[uint64(len(m.memo))] = m.top() },
	'q':  func(m *machine) { m.memo[m.unsigned(1)] = m.top() },
	'r':  func(m *machine) { m.memo[m.unsigned(4)] = m.top() },
	'h':  func(m *machine) { m.recall(m.unsigned(1)) },
	'j':  func(m *machine) { m.recall(m.unsigned(4)) },
	// classes, whose module and name are two lines or are on the stack, and instances
	'c':  func(m *machine) { m.line(); m.line(); m.push(nil) },
	0x93: func(m *machine) { m.pop(2); m.push(nil) },
	'R':  func(m *machine) { m.push(&instance{args: m.pop(2)[1]}) },
	0x81: func(m *machine) { m.push(&instance{args: m.pop(2)[1]}) },
	0x92: func(m *machine) { m.push(&instance{args: m.pop(3)[1]}) }, // ignores the keyword arguments, which torch's state does not use
	'b':  func(m *machine) { state := m.pop(1)[0]; m.top().(*instance).state = state },
}

func (m *machine) push(v any) { m.stack = append(m.stack, v) }

func (m *machine) top() any { return m.stack[len(m.stack)-1] }

// pop removes the last n values of the stack and returns a copy of them.
func (m *machine) pop(n int) []any {
	rest := len(m.stack) - n
	values := slices.Clone(m.stack[rest:])
	m.stack = m.stack[:rest]
	return values
}

// sinceMark pops the values above the last mark, and the mark itself.
func (m *machine) sinceMark() []any {
	n := 0
	for m.stack[len(m.stack)-1-n] != any(mark{}) {
		n++
	}
	return m.pop(n + 1)[1:]
}

// extend adds items to the collection on top of the stack.
func (m *machine) extend(items []any) {
	c := m.top().(*collection)
	c.items = append(c.items, items...)
}

// take consumes n bytes of the input.
func (m *machine) take(n uint64) []byte {
	if n > uint64(len(m.input)-m.at) {
		panic("unexpected end")
	}
	b := m.input[m.at : m.at+int(n)]
	m.at += int(n)
	return b
}

// skip consumes a value of n bytes that is not needed.
func (m *machine) skip(n uint64) {
	m.take(n)
	m.push(nil)
}

// line consumes a line.
func (m *machine) line() {
	for m.take(1)[0] != '\n' {
	}
}

// unsigned reads an unsigned integer of 1, 2 or 4 bytes.
func (m *machine) unsigned(size uint64) uint64 {
	var wide [8]byte
	copy(wide[:], m.take(size))
	return binary.LittleEndian.Uint64(wide[:])
}

func (m *machine) recall(n uint64) {
	v, ok := m.memo[n]
	if !ok {
		panic(fmt.Sprintf("the memo has no entry %d", n))
	}
	m.push(v)
}
