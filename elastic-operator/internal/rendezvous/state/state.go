// Package state parses the keys and the state that torch's agents write to a rendezvous, and reopens a closed rendezvous. It performs no
// I/O.
//
// The state is a base64-encoded pickle. Agents replace the whole state at each change.
package state

import (
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// ErrUnreadable is returned for a state that cannot be parsed. Future versions of torch may use a different format.
var ErrUnreadable = errors.New("the rendezvous state cannot be parsed")

// Sentinel is the value that the c10d backend writes before the first state.
const Sentinel = "Y2FuaW1hZGFt"

// State is the state of a rendezvous.
type State struct {
	Round        int64
	Complete     bool // all participants have joined
	Closed       bool
	Participants int // agents
	Waiting      int // agents waiting for the next round
}

// Parse parses a state. Sentinel and the empty string represent an open rendezvous without participants.
func Parse(text string) (State, error) {
	_, o, err := decode(text)
	if err != nil || o == nil {
		return State{}, err
	}
	round, ok1 := o.attribute("round").(int64)
	complete, ok2 := o.attribute("complete").(boolean)
	closed, ok3 := o.attribute("closed").(boolean)
	joined, ok4 := o.attribute("participants").(*collection)
	if !ok1 || !ok2 || !ok3 || !ok4 || !joined.dictionary {
		return State{}, fmt.Errorf("%w: an attribute is missing", ErrUnreadable)
	}
	return State{Round: round, Complete: complete.value, Closed: closed.value, Participants: len(joined.items) / 2, Waiting: size(o, "wait_list")}, nil
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
	closed, ok := o.attribute("closed").(boolean)
	if !ok {
		return "", fmt.Errorf("%w: the attribute closed is missing", ErrUnreadable)
	}
	raw[closed.at] = opFalse
	return base64.StdEncoding.EncodeToString(raw), nil
}

// decode returns the pickle and the object that it contains. Both are nil if there is no state yet.
func decode(text string) ([]byte, *instance, error) {
	if text == "" || text == Sentinel {
		return nil, nil, nil
	}
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	v, err := read(raw)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	o, ok := v.(*instance)
	if !ok {
		return nil, nil, fmt.Errorf("%w: it is not an object", ErrUnreadable)
	}
	return raw, o, nil
}

// size returns the number of items of an attribute that is a set. Before pickle protocol 4, a set is encoded as a call with a list.
func size(o *instance, name string) int {
	v := o.attribute(name)
	if call, ok := v.(*instance); ok {
		if args, ok := call.args.(*collection); ok && len(args.items) == 1 {
			v = args.items[0]
		}
	}
	if set, ok := v.(*collection); ok {
		return len(set.items)
	}
	return 0
}

// Key is a parsed key of a rendezvous.
type Key struct {
	// RunID is the rendezvous ID of the agents: the ID of the job, or an ID that was derived from it for an in-place restart.
	RunID string
	// Round is the round that the key belongs to, or -1 for the rendezvous state.
	Round int64
	// Name is the name of the key within the round. It is empty for the state.
	Name string
}

const prefix = "torch.rendezvous."

// KeyOf returns the key of a rendezvous state.
func KeyOf(runID string) string { return "/" + prefix + runID }

// restart matches the suffix that in-place restarts append to the job's run ID: the generation and the restart count.
var restart = regexp.MustCompile(`-[0-9]{1,16}-[0-9]{1,16}$`)

// ParseKey parses the keys /torch.rendezvous.<run ID> and /torch.rendezvous.<run ID>.<round>/<name>. The leading slash, which torch's client
// adds, is optional. It returns false for other keys, including those of other jobs.
func ParseKey(key, runID string) (Key, bool) {
	rest, ok := strings.CutPrefix(strings.TrimPrefix(key, "/"), prefix)
	if !ok {
		return Key{}, false
	}
	head, name, inRound := strings.Cut(rest, "/")
	k := Key{RunID: head, Round: -1, Name: name}
	if inRound {
		dot := strings.LastIndexByte(head, '.')
		if dot < 0 {
			return Key{}, false
		}
		round, err := strconv.ParseUint(head[dot+1:], 10, 62)
		if err != nil {
			return Key{}, false
		}
		k.RunID, k.Round = head[:dot], int64(round)
	}
	return k, k.RunID == runID || restart.ReplaceAllString(k.RunID, "") == runID
}
