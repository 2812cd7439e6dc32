// Package pickle reads Python pickles (protocols 2 to 5) as data. It never executes code: calls are returned as the name and the arguments.
// It is pure.
package pickle

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
