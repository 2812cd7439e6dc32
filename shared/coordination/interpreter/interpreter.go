// Package interpreter runs a library of store functions in the process, over data of its own: the Lua that production loads into the
// server, in a Lua interpreter written in Go. Tests and the simulation use it. TestTheInterpreterConforms compares it with real servers.
package interpreter

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// Server runs a function library over data, as a server does: one call at a time, nothing in between. It is not safe for concurrent use.
type Server struct {
	state     *lua.LState
	functions map[string]*lua.LFunction
	data      data
	now       func() time.Time
	publish   func(channel, message string)
}

// Options of a Server. All are required.
type Options struct {
	Library string                        // the source; its first line is for real servers
	Now     func() time.Time              // the server's clock
	Publish func(channel, message string) // called within the call that publishes
}

var libraries sync.Map // the source of a library -> *lua.FunctionProto

// compile compiles each source once.
func compile(library string) (*lua.FunctionProto, error) {
	if known, ok := libraries.Load(library); ok {
		return known.(*lua.FunctionProto), nil
	}
	_, body, _ := strings.Cut(library, "\n")
	chunk, err := parse.Parse(strings.NewReader("\n"+body), "library")
	if err != nil {
		return nil, fmt.Errorf("parsing the library: %w", err)
	}
	proto, err := lua.Compile(chunk, "library")
	if err != nil {
		return nil, fmt.Errorf("compiling the library: %w", err)
	}
	libraries.Store(library, proto)
	return proto, nil
}

// New returns an empty server. It fails if the library cannot be loaded.
func New(o Options) (*Server, error) {
	library, err := compile(o.Library)
	if err != nil {
		return nil, err
	}
	p := &Server{state: lua.NewState(), functions: map[string]*lua.LFunction{}, data: newData(), now: o.Now, publish: o.Publish}
	redis := p.state.NewTable()
	for name, function := range map[string]lua.LGFunction{
		"register_function": p.register,
		"call":              func(l *lua.LState) int { return p.command(l, true) },
		"pcall":             func(l *lua.LState) int { return p.command(l, false) },
		"error_reply":       errorReply,
	} {
		redis.RawSetString(name, p.state.NewFunction(function))
	}
	p.state.SetGlobal("redis", redis)
	p.state.SetGlobal("tonumber", p.state.NewFunction(number))
	p.state.GetGlobal("string").(*lua.LTable).RawSetString("format", p.state.NewFunction(format))
	p.state.Push(p.state.NewFunctionFromProto(library))
	if err := p.state.PCall(0, 0, nil); err != nil {
		return nil, fmt.Errorf("loading the library: %w", err)
	}
	return p, nil
}

// FCall calls a function: it returns a string, an int64, a []string, or nil. An error is the function's error reply.
func (p *Server) FCall(name string, keys, args []string) (any, error) {
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

// raised is the error reply for an error that a function did not catch: the err field of a table, as on a server.
func raised(err error) error {
	if e, ok := errors.AsType[*lua.ApiError](err); ok {
		if t, ok := e.Object.(*lua.LTable); ok {
			return errors.New(lua.LVAsString(t.RawGetString("err")))
		}
	}
	return err
}

// register takes both forms of redis.register_function.
func (p *Server) register(l *lua.LState) int {
	if t, ok := l.Get(1).(*lua.LTable); ok {
		name, callback := t.RawGetString("function_name"), t.RawGetString("callback")
		p.functions[lua.LVAsString(name)] = callback.(*lua.LFunction)
		return 0
	}
	p.functions[l.CheckString(1)] = l.CheckFunction(2)
	return 0
}

// command runs redis.call, which raises errors, and redis.pcall, which returns them.
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

// Do runs a plain command: TYPE, DEL, HGET and the others that functions use. It panics where a server replies an error.
func (p *Server) Do(name string, args ...string) any {
	result, err := p.data.do(name, args)
	if err != nil {
		panic(err)
	}
	return result
}

// Keys are all keys, in order.
func (p *Server) Keys() []string {
	var keys []string
	for _, of := range []iter.Seq[string]{maps.Keys(p.data.strings), maps.Keys(p.data.hashes)} {
		keys = slices.AppendSeq(keys, of)
	}
	slices.Sort(keys)
	return keys
}

// Hash is a copy of a hash; nil if there is none.
func (p *Server) Hash(key string) map[string]string { return maps.Clone(p.data.hashes[key]) }

// Dump is a copy of all that a server holds. The zero value is empty.
type Dump struct{ data }

// Dump copies everything.
func (p *Server) Dump() Dump { return Dump{p.data.clone()} }

// Restore sets the server back to what a dump holds.
func (p *Server) Restore(d Dump) { p.data = d.clone() }

// number is tonumber for base 10. The interpreter's own gives up beyond 64 bits, where a server rounds.
func number(l *lua.LState) int {
	switch v := l.Get(1).(type) {
	case lua.LNumber:
		l.Push(v)
	case lua.LString:
		if n, err := strconv.ParseFloat(strings.TrimSpace(string(v)), 64); err == nil || errors.Is(err, strconv.ErrRange) {
			l.Push(lua.LNumber(n))
			return 1
		}
		l.Push(lua.LNil)
	default:
		l.Push(lua.LNil)
	}
	return 1
}

// format is string.format for %s and %d, which is all that the functions use: the interpreter's own takes a fifth of the time
// of a call.
func format(l *lua.LState) int {
	var text []byte
	arg := 1
	for rest := l.CheckString(1); ; {
		before, after, found := strings.Cut(rest, "%")
		text = append(text, before...)
		if !found {
			l.Push(lua.LString(text))
			return 1
		}
		arg++
		switch {
		case strings.HasPrefix(after, "d"):
			text = strconv.AppendInt(text, int64(l.CheckNumber(arg)), 10)
		case strings.HasPrefix(after, "s"):
			text = append(text, l.ToStringMeta(l.Get(arg)).String()...)
		default:
			l.RaiseError("format %q is not played", rest)
		}
		rest = after[1:]
	}
}

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

// value is a reply as Lua sees it.
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

// reply is what a function returns, as a client sees it.
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
