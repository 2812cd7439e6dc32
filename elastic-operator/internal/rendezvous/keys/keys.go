// Package keys parses the keys of torch's c10d rendezvous backend. It is pure.
package keys

import (
	"regexp"
	"strconv"
	"strings"
)

// Key is a parsed key of a rendezvous.
type Key struct {
	// RunID is the rendezvous ID of the agents: the ID of the job, or an ID that an in-place restart derived from it.
	RunID string
	// State means that the value is the state of the rendezvous.
	State bool
	// Round is the round that the key belongs to, or -1 for the state.
	Round int64
	// Name is the name of the key within the round. It is empty for the state.
	Name string
}

const prefix = "torch.rendezvous."

// State returns the key of the state of a rendezvous.
func State(runID string) string { return "/" + prefix + runID }

// restart matches the suffix that in-place restarts append to the run ID of the job: the generation and the restart count.
var restart = regexp.MustCompile(`-[0-9]{1,16}-[0-9]{1,16}$`)

// Parse parses the keys /torch.rendezvous.<run ID> and /torch.rendezvous.<run ID>.<round>/<name>. The leading slash, which torch's client
// adds, is optional. Parse returns false for other keys, including those of other jobs.
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
