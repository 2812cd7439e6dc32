package rounds

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// Call is a function and its arguments, strings and integers. Its one key is Keys.State.
type Call struct {
	Function  string
	Arguments []any
}

// Slot is a place in the group and the pod that speaks for it.
type Slot struct {
	Name string
	Pod  string // UID
}

// Past is what a member knows of itself that the store may not know.
type Past struct {
	Kind PastKind
	// MoreEntered: more units have entered than the level says, so the store has lost data.
	MoreEntered bool
}

// PastKind is one of the following.
type PastKind string

const (
	PastNew  PastKind = "n" // nothing of this pod has run in this generation of the group
	PastRan  PastKind = "h" // something of this pod has
	PastRuns PastKind = "r" // this instance has run in this round
	PastDied PastKind = "d" // another instance of this pod has died in this round
)

// Member is one instance that joins.
type Member struct {
	Slot
	ID      string // of the instance
	Attempt int64  // counts the instances of the pod
	Ran     bool   // its program has been started
	Past    Past
}

// Join reports instances that are in place for a round; at most MaxBatch, all of one unit.
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

// Death of an instance.
type Death struct {
	Slot
	ID     string
	Round  int64 // of the instance
	Ran    bool  // its program had been started
	Saw    bool  // and so had the round: the store has lost that if it waits for joins
	Leaves bool  // its pod ends and gives up the slot
	Cause  string
}

// Down reports a death.
func Down(incarnation string, unit int, d Death) Call {
	return Call{FunctionDown, []any{incarnation, unit, d.Name, d.Pod, d.ID, d.Round, bit(d.Ran) + bit(d.Ran && d.Saw), bit(d.Leaves), d.Cause}}
}

// Lost reports that the store has gone back behind a round.
func Lost(incarnation string, unit int, s Slot, round int64, entered int) Call {
	return Call{FunctionLost, []any{incarnation, unit, s.Name, s.Pod, round, entered}}
}

// Finish reports that an instance has exited 0. Held: its agent can run it again.
func Finish(incarnation string, unit int, s Slot, id string, held bool) Call {
	return Call{FunctionFinish, []any{incarnation, unit, s.Name, s.Pod, id, bit(held)}}
}

// Ask requests the recreation of the group.
func Ask(incarnation string, unit int, s Slot, cause string) Call {
	return Call{FunctionAsk, []any{incarnation, unit, s.Name, s.Pod, cause}}
}

// Release fences a pod and answers the death of its instance. It happens for the sake of a slot that has failed, mostly its own.
func Release(t coordination.Token, incarnation string, unit int, s Slot, failed string) Call {
	return Call{FunctionRelease, []any{incarnation, unit, s.Name, s.Pod, formatToken(t), failed + " " + coordination.KindPod}}
}

// FinishedInstance stands for a worker that has finished and whose agent no longer reports.
const FinishedInstance = "finished 0 1"

// AnySeq lets Set replace whatever is stored.
const AnySeq int64 = -1

// Set writes a group if its state still has this seq.
func Set(seq int64, s State, c Config) Call {
	expected := ""
	if seq != AnySeq {
		expected = strconv.FormatInt(seq, 10)
	}
	return Call{FunctionSet, append([]any{formatToken(c.Token), expected, s.String()}, c.fields()...)}
}

// Look returns values of a hash that members may have written, given its key.
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

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Answer is the store's answer to a join.
type Answer struct {
	Kind AnswerKind
	// Attempt is the pod's last attempt that the store knows, with AnswerAttempt.
	Attempt int64
}

// AnswerKind is one of the following.
type AnswerKind string

const (
	AnswerJoined   AnswerKind = "J"
	AnswerReplaced AnswerKind = "R" // joined; the death of the instance before it, which was not reported, is answered
	AnswerHeld     AnswerKind = "H" // another pod holds the slot
	AnswerFenced   AnswerKind = "X"
	AnswerAttempt  AnswerKind = "N" // a later attempt has joined: continue after it
	AnswerOver     AnswerKind = "-" // the round, or the incarnation, is over
)

// ParseAnswer reads an answer.
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

// errorReplies are the error replies of the functions.
var errorReplies = map[string]error{
	"HFNOGROUP": coordination.ErrNoGroup, "HFSTALELEADER": coordination.ErrStaleLeader,
	"HFARGUMENT": coordination.ErrArgument, "HFFOREIGN": coordination.ErrForeignValue,
}

// Error returns the protocol's error for an error reply; nil if it is not one of the functions'.
func Error(reply string) error {
	code, _, _ := strings.Cut(strings.TrimPrefix(reply, "ERR "), " ")
	if strings.HasPrefix(reply, "WRONGTYPE") {
		return fmt.Errorf("%w: %s", coordination.ErrForeignValue, reply)
	}
	return errorReplies[code]
}
