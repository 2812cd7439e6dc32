package server

import (
	"slices"
	"strconv"
	"strings"
)

// In torch a closed rendezvous stays closed. An agent closes it when it leaves (torch 2.3 to 2.7) or has exhausted its restarts (all
// versions). All other agents, including replacements, then fail at the next rendezvous. This is wrong if the job should continue, so the
// server reopens the rendezvous. However, agents also close it when the training is complete. In this case it must stay closed long enough
// for waiting agents to learn that there will be no further round.

// Reasons to reopen a rendezvous, which are values of a metric's label.
const (
	// agentLeft means that an agent closed the rendezvous while others were still training.
	agentLeft = "left"
	// jobNotDone means that all agents have terminated, but the job has not finished.
	jobNotDone = "not_done"
)

// Agents write keys with the prefix terminal when their workers have terminated. Up to torch 2.5 there is one key per rank. Later versions
// use a counter, and the last agent writes the key named by last.
const (
	terminal = "torchelastic/agent/terminal_state"
	last     = terminal + "/last_member"
)

// allEnded reports whether all agents of a round have terminated, based on the names of its keys.
func allEnded(names []string, participants int) bool {
	n := 0
	for _, name := range names {
		rank, found := strings.CutPrefix(name, terminal)
		if _, err := strconv.ParseUint(rank, 10, 31); found && err == nil {
			n++
		}
	}
	return participants > 0 && n >= participants || slices.Contains(names, last)
}
