// Package state parses the rendezvous state written by torch's agents, and reopens a closed rendezvous. It is pure.
//
// The state is a base64-encoded pickle. Agents replace the whole state at each change.
package state

import (
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/pickle"
)

// ErrUnreadable is returned for a state that cannot be parsed. Future versions of torch may write another format.
var ErrUnreadable = errors.New("the state of the rendezvous cannot be parsed")

// Sentinel is the value that the c10d backend writes before the first state.
const Sentinel = "Y2FuaW1hZGFt"

// State is the state of a rendezvous.
type State struct {
	Round        int64
	Complete     bool // all participants have joined
	Closed       bool
	Participants []Node
	Waiting      []Node // for the next round
	Spare        []Node // beyond the maximum, torch 2.3 and later
}

// Node is an agent.
type Node struct {
	Name string // <address>_<process ID>_<number>, as in torch's log, with the address truncated to maxAddress bytes
	Rank int64  // -1 if it has none yet
}

// Parse parses a state. Sentinel and the empty string are an open rendezvous without participants.
func Parse(text string) (State, error) {
	_, o, err := decode(text)
	if err != nil || o == nil {
		return State{}, err
	}
	round, ok1 := whole(o, "round")
	complete, ok2 := flag(o, "complete")
	closed, ok3 := flag(o, "closed")
	v, _ := o.Attribute("participants")
	joined, ok4 := v.(*pickle.Dict)
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return State{}, fmt.Errorf("%w: an attribute is missing", ErrUnreadable)
	}
	waiting, spare := items(o, "wait_list"), items(o, "redundancy_list")
	if len(joined.Keys)+len(waiting)+len(spare) > maxNodes {
		return State{}, fmt.Errorf("%w: more than %d nodes", ErrUnreadable, maxNodes)
	}
	s := State{
		Round: round, Complete: complete.Value, Closed: closed.Value,
		Participants: nodes(joined.Keys), Waiting: nodes(waiting), Spare: nodes(spare),
	}
	for i := range s.Participants {
		if rank, ok := joined.Values[i].(int64); ok && s.Complete {
			s.Participants[i].Rank = rank
		}
	}
	return s, nil
}

// Open returns the state with the closed flag cleared. Everything else is unchanged.
func Open(text string) (string, error) {
	raw, o, err := decode(text)
	if err != nil {
		return "", err
	}
	if o == nil {
		return text, nil
	}
	closed, ok := flag(o, "closed")
	if !ok {
		return "", fmt.Errorf("%w: the attribute closed is missing", ErrUnreadable)
	}
	raw[closed.At] = pickle.OpFalse
	return base64.StdEncoding.EncodeToString(raw), nil
}

// decode returns the pickle and the object in it. Both are nil if there is no state yet.
func decode(text string) ([]byte, *pickle.Object, error) {
	if text == "" || text == Sentinel {
		return nil, nil, nil
	}
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	v, err := pickle.Read(raw)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	o, ok := v.(*pickle.Object)
	if !ok {
		return nil, nil, fmt.Errorf("%w: it is not an object", ErrUnreadable)
	}
	return raw, o, nil
}

func whole(o *pickle.Object, name string) (int64, bool) {
	v, _ := o.Attribute(name)
	n, ok := v.(int64)
	return n, ok
}

func flag(o *pickle.Object, name string) (pickle.Bool, bool) {
	v, _ := o.Attribute(name)
	b, ok := v.(pickle.Bool)
	return b, ok
}

// nodes returns nodes without ranks.
func nodes(names []any) (list []Node) {
	for _, name := range names {
		list = append(list, Node{Name: nodeName(name), Rank: -1})
	}
	return list
}

// items returns the items of an attribute that is a set. Before pickle protocol 4 a set is a call with a list.
func items(o *pickle.Object, name string) []any {
	v, _ := o.Attribute(name)
	switch v := v.(type) {
	case *pickle.Set:
		return v.Items
	case *pickle.Object:
		args, ok := v.Args.(pickle.Tuple)
		if !ok || len(args) != 1 || v.Class != (pickle.Global{Module: "builtins", Name: "set"}) && v.Class != (pickle.Global{Module: "__builtin__", Name: "set"}) {
			return nil
		}
		if l, ok := args[0].(*pickle.List); ok {
			return l.Items
		}
	}
	return nil
}

// Limits of the memory for names. In a pickle, many nodes can refer to the same address, so the names may be much larger than the message.
const (
	// maxAddress is the maximum length of a DNS name.
	maxAddress = 253
	// maxNodes equals the maximum number of connections of a server. A state with more nodes is an error.
	maxNodes = 10_000
)

// nodeName returns the name of a node as in torch's log.
func nodeName(v any) string {
	o, ok := v.(*pickle.Object)
	if !ok {
		return ""
	}
	address, ok := o.Attribute("addr")
	if !ok {
		address, _ = o.Attribute("fqdn") // before torch 2.0
	}
	text, _ := address.(string)
	text = text[:min(len(text), maxAddress)]
	pid, _ := whole(o, "pid")
	number, _ := whole(o, "local_id")
	return fmt.Sprintf("%s_%d_%d", text, pid, number)
}
