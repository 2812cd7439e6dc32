// Package rounds is the store's part of the protocol: the functions that run inside the store (rounds.lua), their arguments, and
// the data that they keep. A death in the current round opens the next round, and the last join of a round starts the workers. The
// store does both, because they cannot wait for a leader. The leader decides everything else and writes it with Set. The comments
// in rounds.lua describe each key and each argument.
package rounds

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// Version is the version of the protocol.
const Version = coordination.Version

// Library is the source of the functions.
//
//go:embed rounds.lua
var Library string

const (
	FunctionJoin    = "hf" + Version + "_join"
	FunctionDown    = "hf" + Version + "_down"
	FunctionLost    = "hf" + Version + "_lost"
	FunctionFinish  = "hf" + Version + "_finish"
	FunctionAsk     = "hf" + Version + "_ask"
	FunctionRelease = "hf" + Version + "_release"
	FunctionSet     = "hf" + Version + "_set"
	FunctionLook    = "hf" + Version + "_look"
	// FunctionVersion exists in every version of the library and returns the protocol version.
	FunctionVersion = "hf_version"
)

// Call is a call of a function. The arguments are strings and integers. The only key is Keys.State.
type Call struct {
	Function  string
	Arguments []any
}

// Past is what a member remembers but the store may have lost.
type Past struct {
	Kind PastKind
	// MoreEntered means that the member knows of more entered units than the level shows, so the store has lost data.
	MoreEntered bool
}

// PastKind describes what happened earlier in the member's pod.
type PastKind string

const (
	PastNew  PastKind = "n" // no instance of this pod has run in this generation of the group
	PastRan  PastKind = "h" // an instance of this pod has run in this generation
	PastRuns PastKind = "r" // this instance has run in this round
	PastDied PastKind = "d" // another instance of this pod has died in this round
)

// Member is an instance that joins.
type Member struct {
	Slot
	ID      string // ID of the instance
	Attempt int64  // increases with each instance of a pod
	Ran     bool   // its program was started
	Past    Past
}

// Join reports that instances are ready for a round. It takes at most MaxBatch members, all of the same unit.
func Join(incarnation string, unit int, round int64, entered int, members ...Member) Call {
	args := []any{incarnation, unit, round, entered}
	for _, m := range members {
		past := string(m.Past.Kind)
		if m.Past.MoreEntered {
			past += "w"
		}
		args = append(args, m.Name, m.Pod, m.ID, m.Attempt, bit(m.Ran), past)
	}
	return Call{FunctionJoin, args}
}

// Death describes an instance's death.
type Death struct {
	Slot
	ID     string
	Round  int64 // round of the instance
	Ran    bool  // its program was started
	Saw    bool  // the agent observed that its unit was started in the round; if the store is still waiting for joins, it has lost that information
	Leaves bool  // its pod is terminating and is giving up the slot
	Cause  string
}

// Down reports an instance's death.
func Down(incarnation string, unit int, d Death) Call {
	return Call{FunctionDown, []any{incarnation, unit, d.Name, d.Pod, d.ID, d.Round, bit(d.Ran) + bit(d.Ran && d.Saw), bit(d.Leaves), d.Cause}}
}

// Lost reports that the store was rolled back to a state before a round.
func Lost(incarnation string, unit int, s Slot, round int64, entered int) Call {
	return Call{FunctionLost, []any{incarnation, unit, s.Name, s.Pod, round, entered}}
}

// Finish reports that an instance has exited with code 0. held reports whether its agent can run it again.
func Finish(incarnation string, unit int, s Slot, id string, held bool) Call {
	return Call{FunctionFinish, []any{incarnation, unit, s.Name, s.Pod, id, bit(held)}}
}

// Ask requests that the group be recreated.
func Ask(incarnation string, unit int, s Slot, cause string) Call {
	return Call{FunctionAsk, []any{incarnation, unit, s.Name, s.Pod, cause}}
}

// Release fences a pod and handles the death of its instance. cause is recorded in the history; see LostPod. heir is a pod without a
// slot, with the name of its own slot. It is assigned this slot if no other pod holds it by then. heir is zero if there is no such
// pod. If s has no pod, Release only assigns the slot.
func Release(t coordination.Token, incarnation string, unit int, s Slot, cause string, heir Slot) Call {
	args := []any{incarnation, unit, s.Name, s.Pod, formatToken(t), cause}
	if heir != (Slot{}) {
		args = append(args, heir.Pod, heir.Name)
	}
	return Call{FunctionRelease, args}
}

// FinishedInstance is stored for a finished worker whose agent no longer reports.
const FinishedInstance = "finished 0 1"

// Set writes a group if its stored state still equals before; before is empty if there must be no group. The check is needed because
// a group that the leader believes to be lost may have reappeared by the time the write arrives.
func Set(before string, s State, c Config) Call {
	return Call{FunctionSet, append([]any{formatToken(c.Token), before, s.String()}, c.fields()...)}
}

// Look returns field values from the hash at a key. Members may have forged them.
func (k Keys) Look(key string, fields ...string) Call {
	args := []any{strings.TrimPrefix(key, k.base)}
	for _, field := range fields {
		args = append(args, field)
	}
	return Call{FunctionLook, args}
}

func formatToken(t coordination.Token) string {
	return fmt.Sprintf("%d %d", t.LeaseCreated, t.Transitions)
}

// Answer is the store's answer to a join.
type Answer struct {
	Kind AnswerKind
	// Attempt is the pod's last attempt that the store knows of. It is set only for AnswerAttempt.
	Attempt int64
}

// AnswerKind is the kind of an answer.
type AnswerKind string

const (
	AnswerJoined   AnswerKind = "J"
	AnswerReplaced AnswerKind = "R" // joined; the store has also handled the unreported death of the previous instance
	AnswerHeld     AnswerKind = "H" // another pod holds the slot or is assigned to it, or this pod is assigned to a different slot
	AnswerFenced   AnswerKind = "X"
	AnswerAttempt  AnswerKind = "N" // a later attempt has joined; use the attempt number after it
	AnswerOver     AnswerKind = "-" // the round or the incarnation is over
)

// ParseAnswer parses the reply to a join.
func ParseAnswer(text string) (Answer, error) {
	kind, rest := AnswerKind(text[:min(1, len(text))]), text[min(1, len(text)):]
	switch kind {
	case AnswerJoined, AnswerReplaced, AnswerHeld, AnswerFenced, AnswerOver:
		if rest == "" {
			return Answer{Kind: kind}, nil
		}
	case AnswerAttempt:
		if n, err := parseCount(rest); err == nil {
			return Answer{kind, n}, nil
		}
	}
	return Answer{}, fmt.Errorf("%w: answer %.80q", coordination.ErrForeignValue, text)
}

// errorReplies maps the error codes that the functions return to errors.
var errorReplies = map[string]error{
	"HFNOGROUP": coordination.ErrNoGroup, "HFSTALELEADER": coordination.ErrStaleLeader,
	"HFARGUMENT": coordination.ErrArgument, "HFFOREIGN": coordination.ErrForeignValue,
}

// Error returns the protocol error for an error reply, or nil if the reply does not come from the functions.
func Error(reply string) error {
	code, _, _ := strings.Cut(strings.TrimPrefix(reply, "ERR "), " ")
	if strings.HasPrefix(reply, "WRONGTYPE") {
		return fmt.Errorf("%w: %s", coordination.ErrForeignValue, reply)
	}
	return errorReplies[code]
}
