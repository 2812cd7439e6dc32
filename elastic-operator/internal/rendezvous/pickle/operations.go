package pickle

import (
	"bytes"
	"fmt"
)

// long reads an integer of any length. Integers of more than 64 bits are an error.
func long(m *machine) error {
	size, err := m.byte()
	if err != nil {
		return err
	}
	b, err := m.take(int(size))
	if err != nil {
		return err
	}
	if len(b) > 8 {
		return fmt.Errorf("%w: an integer has more than 64 bits", ErrMalformed)
	}
	var n uint64
	if len(b) > 0 && b[len(b)-1]&0x80 != 0 {
		n = ^uint64(0)
	}
	for i := len(b) - 1; i >= 0; i-- {
		n = n<<8 | uint64(b[i])
	}
	m.push(int64(n))
	return nil
}

func (m *machine) tuple(n int) error {
	t := make(Tuple, n)
	for i := n - 1; i >= 0; i-- {
		v, err := m.pop()
		if err != nil {
			return err
		}
		t[i] = v
	}
	m.push(t)
	return nil
}

func tupleFromMark(m *machine) error {
	items, err := m.sinceMark()
	if err == nil {
		m.push(Tuple(items))
	}
	return err
}

func appendOne(m *machine) error {
	v, err := m.pop()
	if err != nil {
		return err
	}
	return m.extend([]any{v})
}

func appendMany(m *machine) error {
	items, err := m.sinceMark()
	if err != nil {
		return err
	}
	return m.extend(items)
}

func (m *machine) extend(items []any) error {
	l, err := top[*List](m)
	if err == nil {
		l.Items = append(l.Items, items...)
	}
	return err
}

func setItem(m *machine) error {
	value, err := m.pop()
	if err != nil {
		return err
	}
	key, err := m.pop()
	if err != nil {
		return err
	}
	return m.assign([]any{key, value})
}

func setItems(m *machine) error {
	pairs, err := m.sinceMark()
	if err != nil {
		return err
	}
	return m.assign(pairs)
}

func (m *machine) assign(pairs []any) error {
	d, err := top[*Dict](m)
	if err != nil {
		return err
	}
	if len(pairs)%2 != 0 {
		return fmt.Errorf("%w: a dictionary key has no value", ErrMalformed)
	}
	for i := 0; i < len(pairs); i += 2 {
		d.Keys, d.Values = append(d.Keys, pairs[i]), append(d.Values, pairs[i+1])
	}
	return nil
}

func addItems(m *machine) error {
	items, err := m.sinceMark()
	if err != nil {
		return err
	}
	s, err := top[*Set](m)
	if err == nil {
		s.Items = append(s.Items, items...)
	}
	return err
}

func frozenSet(m *machine) error {
	items, err := m.sinceMark()
	if err == nil {
		m.push(&Set{Items: items})
	}
	return err
}

// global reads a module and a name, one per line.
func global(m *machine) error {
	var lines [2]string
	for i := range lines {
		end := bytes.IndexByte(m.input[m.at:], '\n')
		if end < 0 {
			return fmt.Errorf("%w: a global name is not terminated", ErrMalformed)
		}
		lines[i] = string(m.input[m.at : m.at+end])
		m.at += end + 1
	}
	m.push(Global{lines[0], lines[1]})
	return nil
}

func stackGlobal(m *machine) error {
	if err := m.tuple(2); err != nil {
		return err
	}
	v, err := m.pop()
	if err != nil {
		return err
	}
	pair := v.(Tuple)
	module, okModule := pair[0].(string)
	name, okName := pair[1].(string)
	if !okModule || !okName {
		return fmt.Errorf("%w: a global name is not a string", ErrMalformed)
	}
	m.push(Global{module, name})
	return nil
}

func call(m *machine) error {
	args, err := m.pop()
	if err != nil {
		return err
	}
	class, err := m.pop()
	if err == nil {
		m.push(&Object{Class: class, Args: args})
	}
	return err
}

// callWithKeywords ignores the keyword arguments, which torch's state does not use.
func callWithKeywords(m *machine) error {
	if _, err := m.pop(); err != nil {
		return err
	}
	return call(m)
}

func build(m *machine) error {
	state, err := m.pop()
	if err != nil {
		return err
	}
	o, err := top[*Object](m)
	if err == nil {
		o.State = state
	}
	return err
}
