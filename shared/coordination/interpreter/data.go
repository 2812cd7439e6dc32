package interpreter

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// data are the keys of a server, by type. A key is of one type, as it is on a real server.
type data struct {
	strings map[string]string
	hashes  map[string]map[string]string
	sets    map[string]map[string]bool
	lists   map[string][]string
}

func newData() data {
	return data{strings: map[string]string{}, hashes: map[string]map[string]string{}, sets: map[string]map[string]bool{}, lists: map[string][]string{}}
}

func (d data) clone() data {
	c := newData()
	maps.Copy(c.strings, d.strings)
	for key, h := range d.hashes {
		c.hashes[key] = maps.Clone(h)
	}
	for key, s := range d.sets {
		c.sets[key] = maps.Clone(s)
	}
	for key, l := range d.lists {
		c.lists[key] = slices.Clone(l)
	}
	return c
}

// typeOf is what TYPE answers.
func (d data) typeOf(key string) string {
	_, isString := d.strings[key]
	switch {
	case isString:
		return "string"
	case d.hashes[key] != nil:
		return "hash"
	case d.sets[key] != nil:
		return "set"
	case d.lists[key] != nil:
		return "list"
	}
	return "none"
}

// status is a simple string reply; the other kinds of replies are nil, string, int64 and []any.
type status string

// command is one that the functions use: arity is how many arguments it takes at least, kind the type of its key.
type command struct {
	arity int
	kind  string // "": any
	run   func(d data, args []string) any
}

var commands = map[string]command{
	"TYPE":      {1, "", func(d data, args []string) any { return status(d.typeOf(args[0])) }},
	"DEL":       {1, "", del},
	"UNLINK":    {1, "", del},
	"SET":       {2, "", set},
	"GETRANGE":  {3, "string", getRange},
	"HLEN":      {1, "hash", func(d data, args []string) any { return int64(len(d.hashes[args[0]])) }},
	"HSTRLEN":   {2, "hash", func(d data, args []string) any { return int64(len(d.hashes[args[0]][args[1]])) }},
	"HSETNX":    {3, "hash", hsetnx},
	"HGET":      {2, "hash", func(d data, args []string) any { return field(d.hashes[args[0]], args[1]) }},
	"HMGET":     {2, "hash", hmget},
	"HGETALL":   {1, "hash", hgetall},
	"HSET":      {3, "hash", hset},
	"HDEL":      {2, "hash", hdel},
	"SISMEMBER": {2, "set", func(d data, args []string) any { return count(d.sets[args[0]][args[1]]) }},
	"SADD":      {2, "set", sadd},
	"LLEN":      {1, "list", func(d data, args []string) any { return int64(len(d.lists[args[0]])) }},
	"RPUSH":     {2, "list", rpush},
	"LSET":      {3, "list", lset},
	"LTRIM":     {3, "list", ltrim},
}

// do runs a command on the data. An error is what the server would reply.
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
		removed += count(d.typeOf(key) != "none")
		delete(d.strings, key)
		delete(d.hashes, key)
		delete(d.sets, key)
		delete(d.lists, key)
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

// hgetall returns the fields in order, so that what is decided by them can be repeated.
func hgetall(d data, args []string) any {
	h := d.hashes[args[0]]
	flat := make([]any, 0, 2*len(h))
	for _, name := range slices.Sorted(maps.Keys(h)) {
		flat = append(flat, name, h[name])
	}
	return flat
}

func hset(d data, args []string) any {
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

// set replaces a value of any type.
func set(d data, args []string) any {
	del(d, args[:1])
	d.strings[args[0]] = args[1]
	return status("OK")
}

// getRange returns the bytes from the first position to the last, which counts.
func getRange(d data, args []string) any {
	value := d.strings[args[0]]
	from, to := max(0, position(args[1], len(value))), min(len(value)-1, position(args[2], len(value)))
	if from > to {
		return ""
	}
	return value[from : to+1]
}

func hdel(d data, args []string) any {
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

func sadd(d data, args []string) any {
	s := d.sets[args[0]]
	if s == nil {
		s = map[string]bool{}
		d.sets[args[0]] = s
	}
	before := len(s)
	for _, member := range args[1:] {
		s[member] = true
	}
	return int64(len(s) - before)
}

func rpush(d data, args []string) any {
	d.lists[args[0]] = append(d.lists[args[0]], args[1:]...)
	return int64(len(d.lists[args[0]]))
}

func lset(d data, args []string) any {
	l := d.lists[args[0]]
	l[position(args[1], len(l))] = args[2]
	return status("OK")
}

func ltrim(d data, args []string) any {
	l := d.lists[args[0]]
	from, to := max(0, position(args[1], len(l))), position(args[2], len(l))
	d.lists[args[0]] = slices.Clone(l[min(from, len(l)):min(to+1, len(l))])
	return status("OK")
}

// position reads an index into a list; from the end if it is negative.
func position(text string, length int) int {
	i, _ := strconv.Atoi(text)
	if i < 0 {
		i += length
	}
	return i
}
