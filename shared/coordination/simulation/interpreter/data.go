package interpreter

import (
	"fmt"
	"maps"
	"strconv"
)

// data holds a server's keys, by type. As on a real server, each key has one type.
type data struct {
	strings map[string]string
	hashes  map[string]map[string]string
	written map[string]uint64 // number of the last write, by key
	writes  *uint64           // number of writes so far
}

func newData() data {
	return data{strings: map[string]string{}, hashes: map[string]map[string]string{}, written: map[string]uint64{}, writes: new(uint64)}
}

func (d data) clone() data {
	c := newData()
	maps.Copy(c.strings, d.strings)
	for key, h := range d.hashes {
		c.hashes[key] = maps.Clone(h)
	}
	return c
}

// touch records a write to a key.
func (d data) touch(key string) {
	*d.writes++
	d.written[key] = *d.writes
}

// typeOf returns a key's type, like the command TYPE.
func (d data) typeOf(key string) string {
	_, isString := d.strings[key]
	switch {
	case isString:
		return "string"
	case d.hashes[key] != nil:
		return "hash"
	}
	return "none"
}

// status is a simple string reply. The other kinds of replies are nil, string, int64 and []any.
type status string

// command is a command that the functions use. arity is the minimum number of arguments, and kind is the type of the key.
type command struct {
	arity int
	kind  string // "" for any
	run   func(d data, args []string) any
}

var commands = map[string]command{
	"DEL":      {1, "", del},
	"UNLINK":   {1, "", del},
	"SET":      {2, "", set},
	"GETRANGE": {3, "string", getRange},
	"HLEN":     {1, "hash", func(d data, args []string) any { return int64(len(d.hashes[args[0]])) }},
	"HSTRLEN":  {2, "hash", func(d data, args []string) any { return int64(len(d.hashes[args[0]][args[1]])) }},
	"HSETNX":   {3, "hash", hsetnx},
	"HGET":     {2, "hash", func(d data, args []string) any { return field(d.hashes[args[0]], args[1]) }},
	"HMGET":    {2, "hash", hmget},
	"HSET":     {3, "hash", hset},
	"HDEL":     {2, "hash", hdel},
}

// do runs a command on the data. It returns the error with which a server would reply.
func (d data) do(name string, args []string) (any, error) {
	c, known := commands[name]
	switch {
	case !known:
		return nil, fmt.Errorf("ERR unknown command '%s'", name)
	case len(args) < c.arity:
		return nil, fmt.Errorf("ERR wrong number of arguments for '%s' command", name)
	}
	if have := d.typeOf(args[0]); c.kind != "" && have != "none" && have != c.kind {
		return nil, fmt.Errorf("WRONGTYPE Operation against a key holding the wrong kind of value")
	}
	return c.run(d, args), nil
}

func field(h map[string]string, name string) any {
	if v, ok := h[name]; ok {
		return v
	}
	return nil
}

func count(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func del(d data, keys []string) any {
	removed := int64(0)
	for _, key := range keys {
		d.touch(key)
		removed += count(d.typeOf(key) != "none")
		delete(d.strings, key)
		delete(d.hashes, key)
	}
	return removed
}

func hmget(d data, args []string) any {
	values := make([]any, len(args)-1)
	for i, name := range args[1:] {
		values[i] = field(d.hashes[args[0]], name)
	}
	return values
}

func hset(d data, args []string) any {
	d.touch(args[0])
	h := d.hashes[args[0]]
	if h == nil {
		h = map[string]string{}
		d.hashes[args[0]] = h
	}
	before := len(h)
	for i := 1; i+1 < len(args); i += 2 {
		h[args[i]] = args[i+1]
	}
	return int64(len(h) - before)
}

func hsetnx(d data, args []string) any {
	if _, has := d.hashes[args[0]][args[1]]; has {
		return int64(0)
	}
	return hset(d, args[:3])
}

// set replaces a key's value, regardless of its type.
func set(d data, args []string) any {
	del(d, args[:1])
	d.strings[args[0]] = args[1]
	return status("OK")
}

// getRange returns the bytes from the first to the last position, inclusive.
func getRange(d data, args []string) any {
	value := d.strings[args[0]]
	from, to := max(0, position(args[1], len(value))), min(len(value)-1, position(args[2], len(value)))
	if from > to {
		return ""
	}
	return value[from : to+1]
}

func hdel(d data, args []string) any {
	d.touch(args[0])
	h := d.hashes[args[0]]
	before := len(h)
	for _, name := range args[1:] {
		delete(h, name)
	}
	if len(h) == 0 {
		delete(d.hashes, args[0])
	}
	return int64(before - len(h))
}

// position parses an index. A negative index counts from the end.
func position(text string, length int) int {
	i, _ := strconv.Atoi(text)
	if i < 0 {
		i += length
	}
	return i
}
