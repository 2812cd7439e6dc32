package pickle

import "bytes"

// long reads an integer of any length. Integers of more than 64 bits are an error.
func long(m *machine) {
	b := m.take(int(m.take(1)[0]))
	if len(b) > 8 {
		fail("an integer has more than 64 bits")
	}
	var n uint64
	if len(b) > 0 && b[len(b)-1]&0x80 != 0 {
		n = ^uint64(0)
	}
	for i := len(b) - 1; i >= 0; i-- {
		n = n<<8 | uint64(b[i])
	}
	m.push(int64(n))
}

func (m *machine) tuple(n int) {
	t := make(Tuple, n)
	for i := n - 1; i >= 0; i-- {
		t[i] = m.pop()
	}
	m.push(t)
}

func (m *machine) extend(items []any) {
	l := top[*List](m)
	l.Items = append(l.Items, items...)
}

func setItem(m *machine) {
	value, key := m.pop(), m.pop()
	m.assign([]any{key, value})
}

func (m *machine) assign(pairs []any) {
	d := top[*Dict](m)
	if len(pairs)%2 != 0 {
		fail("a dictionary key has no value")
	}
	for i := 0; i < len(pairs); i += 2 {
		d.Keys, d.Values = append(d.Keys, pairs[i]), append(d.Values, pairs[i+1])
	}
}

// global skips a module and a name, one per line.
func global(m *machine) {
	for range 2 {
		end := bytes.IndexByte(m.input[m.at:], '\n')
		if end < 0 {
			fail("a global name is not terminated")
		}
		m.take(end + 1)
	}
	m.push(Global{})
}

func call(m *machine) {
	args := m.pop()
	m.pop() // the class or function
	m.push(&Object{Args: args})
}

func build(m *machine) {
	state := m.pop()
	top[*Object](m).State = state
}
