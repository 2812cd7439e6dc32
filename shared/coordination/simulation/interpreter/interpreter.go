// Package interpreter runs a library of store functions in process and on its own data, for tests and the simulation. It runs the
// Lua code that is loaded into the server in production, in a Lua interpreter written in Go. TestInterpreterMatchesAServer in
// package valkey compares it with a real server.
package interpreter

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// Server runs a function library on its data. Like a real server, it runs each call atomically. It is not safe for concurrent
// use.
type Server struct {
	*machine
	data    data
	now     func() time.Time
	publish func(channel, message string)
	answers map[string]answer // cached answers of read-only functions, by call
	reads   *answer           // what the call in progress has read so far; nil if its answer is not cached
}

// Options are the options of a Server. All are required.
type Options struct {
	Library string                        // the source; the first line is only for real servers
	Now     func() time.Time              // the server's clock
	Publish func(channel, message string) // called during the call that publishes
}

// machine is an interpreter that has loaded a library. Since a library keeps no state between calls, a machine can be reused by
// another server after the first one has been closed.
type machine struct {
	state     *lua.LState
	functions map[string]*lua.LFunction
	readOnly  map[string]bool // functions with the flag no-writes
	idle      *sync.Pool      // the pool to which the machine is returned
	server    *Server         // the server that is using the machine
}

// library is a compiled source.
type library struct {
	proto *lua.FunctionProto
	idle  sync.Pool // of *machine
}

var libraries sync.Map // source of a library -> *library

// compile compiles each source once.
func compile(source string) (*library, error) {
	if known, ok := libraries.Load(source); ok {
		return known.(*library), nil
	}
	_, body, _ := strings.Cut(source, "\n")
	chunk, err := parse.Parse(strings.NewReader("\n"+body), "library")
	if err != nil {
		return nil, fmt.Errorf("parsing the library: %w", err)
	}
	proto, err := lua.Compile(chunk, "library")
	if err != nil {
		return nil, fmt.Errorf("compiling the library: %w", err)
	}
	known, _ := libraries.LoadOrStore(source, &library{proto: proto})
	return known.(*library), nil
}

// New returns an empty server. It fails if the library cannot be loaded.
func New(o Options) (*Server, error) {
	l, err := compile(o.Library)
	if err != nil {
		return nil, err
	}
	m, ok := l.idle.Get().(*machine)
	if !ok {
		if m, err = l.load(); err != nil {
			return nil, err
		}
	}
	p := &Server{machine: m, data: newData(), now: o.Now, publish: o.Publish, answers: map[string]answer{}}
	m.server = p
	return p, nil
}

// Close makes the machine available to other servers. The closed server can no longer be called. Closing a server is optional.
func (p *Server) Close() {
	m := p.machine
	p.machine, m.server = nil, nil
	m.idle.Put(m)
}

func (l *library) load() (*machine, error) {
	m := &machine{state: lua.NewState(), functions: map[string]*lua.LFunction{}, readOnly: map[string]bool{}, idle: &l.idle}
	redis := m.state.NewTable()
	for name, function := range map[string]lua.LGFunction{
		"register_function": m.register,
		"call":              func(l *lua.LState) int { return m.server.command(l, true) },
		"pcall":             func(l *lua.LState) int { return m.server.command(l, false) },
		"error_reply":       errorReply,
	} {
		redis.RawSetString(name, m.state.NewFunction(function))
	}
	m.state.SetGlobal("redis", redis)
	m.state.SetGlobal("tonumber", m.state.NewFunction(number))
	texts := m.state.GetGlobal("string").(*lua.LTable)
	for name, function := range map[string]lua.LGFunction{"format": format, "match": match, "find": find} {
		texts.RawSetString(name, m.state.NewFunction(function))
	}
	m.state.Push(m.state.NewFunctionFromProto(l.proto))
	if err := m.state.PCall(0, 0, nil); err != nil {
		return nil, fmt.Errorf("loading the library: %w", err)
	}
	return m, nil
}

// FCall calls a function. It returns a string, an int64, a []string that must not be changed, or nil. An error contains the
// function's error reply.
func (p *Server) FCall(name string, keys, args []string) (any, error) {
	if p.readOnly[name] {
		return p.remembered(name, keys, args)
	}
	return p.run(name, keys, args)
}

func (p *Server) run(name string, keys, args []string) (any, error) {
	function := p.functions[name]
	if function == nil {
		return nil, fmt.Errorf("ERR Function not found")
	}
	call := lua.P{Fn: function, NRet: 1, Protect: true}
	if err := p.state.CallByParam(call, list(p.state, keys), list(p.state, args)); err != nil {
		return nil, raised(err)
	}
	result := p.state.Get(-1)
	p.state.Pop(1)
	return reply(result)
}

// raised returns the error reply for an error that a function did not catch. As on a server, that is the err field of a raised
// table.
func raised(err error) error {
	if e, ok := errors.AsType[*lua.ApiError](err); ok {
		if t, ok := e.Object.(*lua.LTable); ok {
			return errors.New(lua.LVAsString(t.RawGetString("err")))
		}
	}
	return err
}

// register supports both forms of redis.register_function.
func (m *machine) register(l *lua.LState) int {
	if t, ok := l.Get(1).(*lua.LTable); ok {
		name, callback := t.RawGetString("function_name"), t.RawGetString("callback")
		m.functions[lua.LVAsString(name)] = callback.(*lua.LFunction)
		if flags, ok := t.RawGetString("flags").(*lua.LTable); ok {
			m.readOnly[lua.LVAsString(name)] = flags.RawGetInt(1) == lua.LString("no-writes")
		}
		return 0
	}
	m.functions[l.CheckString(1)] = l.CheckFunction(2)
	return 0
}

// command implements redis.call, which raises errors, and redis.pcall, which returns them.
func (p *Server) command(l *lua.LState, raises bool) int {
	args := make([]string, l.GetTop()-1)
	for i := range args {
		args[i] = lua.LVAsString(l.Get(i + 2))
	}
	result, err := p.do(l.CheckString(1), args)
	if err != nil {
		failed := l.NewTable()
		failed.RawSetString("err", lua.LString(err.Error()))
		if raises {
			l.Error(failed, 0)
		}
		l.Push(failed)
		return 1
	}
	l.Push(value(l, result))
	return 1
}

func (p *Server) do(name string, args []string) (any, error) {
	p.reads.add(p.data, name, args)
	switch name {
	case "TIME":
		now := p.now().UnixMicro()
		return []any{fmt.Sprint(now / 1e6), fmt.Sprint(now % 1e6)}, nil
	case "PUBLISH":
		p.publish(args[0], args[1])
		return int64(0), nil
	}
	return p.data.do(name, args)
}

// Do runs one of the commands that functions use. It panics if a server would reply with an error.
func (p *Server) Do(name string, args ...string) any {
	result, err := p.TryDo(name, args...)
	if err != nil {
		panic(err)
	}
	return result
}

// TryDo runs one of the commands that functions use. It returns the error that a server would reply with.
func (p *Server) TryDo(name string, args ...string) (any, error) { return p.data.do(name, args) }

// Keys returns all keys, in order.
func (p *Server) Keys() []string {
	var keys []string
	for _, of := range []iter.Seq[string]{maps.Keys(p.data.strings), maps.Keys(p.data.hashes)} {
		keys = slices.AppendSeq(keys, of)
	}
	slices.Sort(keys)
	return keys
}

// Hash returns a hash, or nil if there is none. It is valid until the next call and must not be changed.
func (p *Server) Hash(key string) map[string]string { return p.data.hashes[key] }

// Dump is a copy of all of a server's data. The zero value is empty.
type Dump struct{ data }

// Dump copies all data.
func (p *Server) Dump() Dump { return Dump{p.data.clone()} }

// Restore replaces the data with a dump.
func (p *Server) Restore(d Dump) {
	writes := p.Writes() + 1
	p.data = d.clone()
	*p.data.writes = writes
	clear(p.answers)
}

// Writes returns a number that changes whenever the data changes.
func (p *Server) Writes() uint64 { return *p.data.writes }

func errorReply(l *lua.LState) int {
	t := l.NewTable()
	t.RawSetString("err", lua.LString(l.CheckString(1)))
	l.Push(t)
	return 1
}

func list(l *lua.LState, values []string) *lua.LTable {
	t := l.CreateTable(len(values), 0)
	for _, v := range values {
		t.Append(lua.LString(v))
	}
	return t
}

// value converts a reply to a Lua value.
func value(l *lua.LState, reply any) lua.LValue {
	switch v := reply.(type) {
	case string:
		return lua.LString(v)
	case int64:
		return lua.LNumber(v)
	case status:
		t := l.NewTable()
		t.RawSetString("ok", lua.LString(v))
		return t
	case []any:
		t := l.CreateTable(len(v), 0)
		for i, one := range v {
			t.RawSetInt(i+1, value(l, one))
		}
		return t
	}
	return lua.LFalse // nil
}

// reply converts the result of a function to a client's reply.
func reply(v lua.LValue) (any, error) {
	switch v := v.(type) {
	case lua.LString:
		return string(v), nil
	case lua.LNumber:
		return int64(v), nil
	case *lua.LTable:
		if err := v.RawGetString("err"); err != lua.LNil {
			return nil, errors.New(err.String())
		}
		texts := make([]string, v.Len())
		for i := range texts {
			texts[i] = lua.LVAsString(v.RawGetInt(i + 1))
		}
		return texts, nil
	}
	return nil, nil
}
