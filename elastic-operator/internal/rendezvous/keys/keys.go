// Package keys reads the names that torch's c10d backend gives its keys. Pure.
package keys

import (
	"regexp"
	"strconv"
	"strings"
)

// Key is a key of TCPStore that belongs to a rendezvous.
type Key struct {
	// RunID is the rendezvous ID of the agents: that of the job, or one that a restart in place derived from it.
	RunID string
	// State reports whether the key holds the state of the rendezvous.
	State bool
	// Round is the round whose agents share the key; -1 for the state.
	Round int64
	// Name is what the agents of a round call the key; empty for the state.
	Name string
}

const prefix = "torch.rendezvous."

// State returns the key that holds the state of a rendezvous.
func State(runID string) string { return "/" + prefix + runID }

// restart is what a restart in place appends to the run ID of its job: the epoch and the restart count.
var restart = regexp.MustCompile(`-[0-9]{1,16}-[0-9]{1,16}$`)

// Parse reads /torch.rendezvous.<run ID> and /torch.rendezvous.<run ID>.<round>/<name>, with or without the slash that torch's client adds.
// It reports false for every other key, and for the keys of other jobs than the one with this run ID.
func Parse(key, runID string) (Key, bool) {
	rest, ok := strings.CutPrefix(strings.TrimPrefix(key, "/"), prefix)
	if !ok {
		return Key{}, false
	}
	head, name, inRound := strings.Cut(rest, "/")
	k := Key{RunID: head, State: !inRound, Round: -1, Name: name}
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
