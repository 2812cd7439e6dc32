// Package state reads the state that torch's agents keep of their rendezvous, and opens it again after one of them has closed it. Pure.
//
// The state is a pickle in base64. Agents replace it as a whole at every step.
package state

import (
	"encoding/base64"
	"errors"
	"fmt"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/pickle"
)

// ErrUnreadable is returned for a state that this package cannot read: a future torch may write another one.
var ErrUnreadable = errors.New("the state of the rendezvous cannot be read")

// Sentinel is what the c10d backend writes where there is no state yet.
const Sentinel = "Y2FuaW1hZGFt"

// State is a rendezvous as its agents see it.
type State struct {
	Round        int64
	Complete     bool // the participants run
	Closed       bool
	Participants []Node
	Waiting      []Node // for the next round
	Spare        []Node // more than allowed; torch 2.3 and later
}

// Node is an agent.
type Node struct {
	Name string // address, process and a number, as torch logs it; the address is cut after maxAddress bytes
	Rank int64  // -1: none yet
}

// Parse reads a state. A Sentinel, or nothing, is an open rendezvous without participants.
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
		return State{}, fmt.Errorf("%w: it has more than %d nodes", ErrUnreadable, maxNodes)
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

// Open returns the same state, not closed. All else that the agents know, the round above all, stays as it is.
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
		return "", fmt.Errorf("%w: it does not say whether it is closed", ErrUnreadable)
	}
	raw[closed.At] = pickle.OpFalse
	return base64.StdEncoding.EncodeToString(raw), nil
}

// decode returns the pickle and the instance in it, nil if there is no state yet.
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
		return nil, nil, fmt.Errorf("%w: it is no instance", ErrUnreadable)
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

// nodes without ranks.
func nodes(names []any) (list []Node) {
	for _, name := range names {
		list = append(list, Node{Name: nodeName(name), Rank: -1})
	}
	return list
}

// items of an attribute that is a set; before protocol 4 a set is a call with a list.
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

// Many nodes of one message may refer to the same address, so that their names could take far more memory than the message.
const (
	// maxAddress is the length of the longest DNS name.
	maxAddress = 253
	// maxNodes is as many as a server has connections. A state with more is not read.
	maxNodes = 10_000
)

// nodeName is how torch prints the node in its log: address, process, number.
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
