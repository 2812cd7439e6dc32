// Package state reads what torch's agents write about their rendezvous, and writes it as open where one of them has closed it. Pure.
//
// There are two formats: the dynamic one of the backends c10d and etcd-v2, a pickle in base64 that is written as a whole at every
// step; and the legacy one of the backend etcd, JSON.
package state

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/pickle"
)

// ErrUnreadable is a state of neither format, or of a torch that writes something else.
var ErrUnreadable = errors.New("the state of the rendezvous cannot be read")

// Sentinel is what the c10d backend writes where there is no state yet.
const Sentinel = "Y2FuaW1hZGFt"

// State is a rendezvous as its agents see it.
type State struct {
	Round        int64
	Complete     bool // the participants run
	Closed       bool
	Participants []Node
	Waiting      []Node // for the next round; unnamed in the legacy format
	Spare        []Node // more than allowed; torch 2.3 and later
}

// Node is an agent.
type Node struct {
	Name string // host or address, process, and a number; empty in the legacy format
	Rank int64  // -1: none yet
}

// Dynamic reads the format of c10d and etcd-v2. A Sentinel, or nothing, is an open rendezvous without participants.
func Dynamic(text string) (State, error) {
	_, o, err := decode(text)
	if err != nil || o == nil {
		return State{}, err
	}
	var s State
	var ok [4]bool
	s.Round, ok[0] = whole(o, "round")
	complete, ok1 := flag(o, "complete")
	closed, ok2 := flag(o, "closed")
	s.Complete, s.Closed, ok[1], ok[2] = complete.Value, closed.Value, ok1, ok2
	s.Participants, ok[3] = participants(o, s.Complete)
	if ok != [4]bool{true, true, true, true} {
		return State{}, fmt.Errorf("%w: an attribute is missing", ErrUnreadable)
	}
	s.Waiting = members(o, "wait_list")
	s.Spare = members(o, "redundancy_list")
	return s, nil
}

// OpenDynamic is the same state, not closed: all else that the agents know, the round above all, stays as it is.
func OpenDynamic(text string) (string, error) {
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

func participants(o *pickle.Object, complete bool) ([]Node, bool) {
	v, _ := o.Attribute("participants")
	d, ok := v.(*pickle.Dict)
	if !ok {
		return nil, false
	}
	var nodes []Node
	for i, key := range d.Keys {
		n := Node{Name: nodeName(key), Rank: -1}
		if rank, ok := d.Values[i].(int64); ok && complete {
			n.Rank = rank
		}
		nodes = append(nodes, n)
	}
	return nodes, true
}

func members(o *pickle.Object, name string) []Node {
	v, _ := o.Attribute(name)
	var nodes []Node
	for _, item := range items(v) {
		nodes = append(nodes, Node{Name: nodeName(item), Rank: -1})
	}
	return nodes
}

// items of a set; before protocol 4 a set is a call with a list.
func items(v any) []any {
	switch v := v.(type) {
	case *pickle.Set:
		return v.Items
	case *pickle.Object:
		args, ok := v.Args.(pickle.Tuple)
		if !ok || len(args) != 1 || v.Class != pickle.Global("builtins.set") && v.Class != pickle.Global("__builtin__.set") {
			return nil
		}
		if l, ok := args[0].(*pickle.List); ok {
			return l.Items
		}
	}
	return nil
}

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
	text, _ := address.(string) // anything else may be much longer than what it was read from
	pid, _ := whole(o, "pid")
	number, _ := whole(o, "local_id")
	return fmt.Sprintf("%s_%d_%d", text, pid, number)
}

// The states of the legacy format.
const (
	setup    = "setup"
	joinable = "joinable"
	frozen   = "frozen"
	final    = "final"
	closed   = "closed"
)

type legacy struct {
	Status       string   `json:"status"`
	Version      string   `json:"version"`
	Participants []int64  `json:"participants"`
	KeepAlives   []string `json:"keep_alives"`
	Waiting      *int     `json:"num_workers_waiting"`
}

// Legacy reads the format of the backend etcd.
func Legacy(text string) (State, error) {
	l, err := readLegacy(text)
	if err != nil {
		return State{}, err
	}
	s := State{Complete: l.Status == final, Closed: l.Status == closed}
	if l.Version != "" {
		if s.Round, err = strconv.ParseInt(l.Version, 10, 64); err != nil {
			return State{}, fmt.Errorf("%w: %w", ErrUnreadable, err)
		}
	}
	for _, rank := range l.Participants {
		s.Participants = append(s.Participants, Node{Rank: rank})
	}
	if l.Waiting != nil {
		s.Waiting = make([]Node, max(0, min(*l.Waiting, maxWaiting)))
		for i := range s.Waiting {
			s.Waiting[i].Rank = -1
		}
	}
	return s, nil
}

// maxWaiting keeps a wrong number from becoming memory.
const maxWaiting = 1 << 16

func readLegacy(text string) (legacy, error) {
	var l legacy
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		return legacy{}, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	switch l.Status {
	case setup, joinable, frozen, final, closed:
		return l, nil
	default:
		return legacy{}, fmt.Errorf("%w: status %q", ErrUnreadable, l.Status)
	}
}

// OpenLegacy is the state that was there before it was closed; closing changes nothing but the status, and what else is there tells which that
// was. It is empty if the state is better deleted: it was not set up yet. ephemeral tells that the state needs a time to live, as the agents had given
// it, because one of them may have left in the middle of a step that nobody else completes.
func OpenLegacy(text string) (opened string, ephemeral bool, err error) {
	l, err := readLegacy(text)
	if err != nil {
		return "", false, err
	}
	if l.Status != closed {
		return text, l.Status != final, nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &fields); err != nil {
		return "", false, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	status := l.before()
	if status == setup {
		return "", false, nil
	}
	fields["status"] = json.RawMessage(strconv.Quote(status))
	b, err := json.Marshal(fields)
	return string(b), status != final, err
}

// before is the status that the fields of a closed state belong to.
func (l legacy) before() string {
	switch {
	case l.Waiting != nil:
		return final
	case l.KeepAlives != nil:
		return frozen
	case l.Version != "":
		return joinable
	default:
		return setup
	}
}
