// Package pickle reads Python's pickles, protocols 2 to 5, as data. It calls nothing and knows no class: what a pickle would call is kept as
// the name and the arguments of the call. Pure.
package pickle

// Bool is True or False, and where in the pickle it is written.
type Bool struct {
	Value bool
	At    int // offset of the one byte that says which
}

// Opcodes of the two; Bool.At is the offset of one of them.
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

// Dict is a dictionary, in the order in which it was written.
type Dict struct{ Keys, Values []any }

// Get returns the value of the last key that is this string.
func (d *Dict) Get(key string) (any, bool) {
	for i := len(d.Keys) - 1; i >= 0; i-- {
		if d.Keys[i] == any(key) {
			return d.Values[i], true
		}
	}
	return nil, false
}

// Object is an instance: what was called, with which arguments, and the state that was set afterwards, nil if none was.
type Object struct {
	Class any
	Args  any
	State any
}

// Attribute returns an attribute of an instance whose state is the usual dictionary.
func (o *Object) Attribute(name string) (any, bool) {
	d, ok := o.State.(*Dict)
	if !ok {
		return nil, false
	}
	return d.Get(name)
}
