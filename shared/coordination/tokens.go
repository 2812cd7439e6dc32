package coordination

import (
	"regexp"
	"strconv"
	"strings"
)

// Level.Steps has a token for each step, separated by commas:
//
//   - it forms
//     4      it entered at round 4
//     x      it has left: all of it has finished, and nothing holds its workers
//     4!2!3  likewise, and of its stages those with the indexes 2 and 3 have left already
var tokenList = regexp.MustCompile(`^(x|(-|[0-9]{1,16})(![0-9]{1,4})*)(,(x|(-|[0-9]{1,16})(![0-9]{1,4})*))*$`)

func areTokens(s string) bool { return tokenList.MatchString(s) }

// token is what the level says of a step, and of the stages of it that have left; "" if it has no such step.
func (l Level) token(step int64) (state, stages string) {
	rest, found := l.Steps, l.Steps != "" && step >= 0
	for ; found && step > 0; step-- {
		_, rest, found = strings.Cut(rest, ",")
	}
	if !found {
		return "", ""
	}
	token, _, _ := strings.Cut(rest, ",")
	state, stages, _ = strings.Cut(token, "!")
	return state, stages
}

// Entered gives the round that a step entered at; not ok while it forms, and when it has left. An instance's round is
// that one, or the one it was given if that is higher.
func (l Level) Entered(step int64) (round int64, ok bool) {
	state, _ := l.token(step)
	round, err := strconv.ParseInt(state, 10, 64)
	return round, err == nil
}

// Forms tells whether any step forms.
func (l Level) Forms() bool { return strings.Contains(l.Steps, "-") }

// Left tells whether all of a step has finished and is held no longer.
func (l Level) Left(step int64) bool {
	state, _ := l.token(step)
	return state == "x"
}

// StageLeft tells the same of one stage of a step.
func (l Level) StageLeft(step, stage int64) bool {
	_, stages := l.token(step)
	for index := range strings.SplitSeq(stages, "!") {
		if index == strconv.FormatInt(stage, 10) {
			return true
		}
	}
	return l.Left(step)
}

// Lifted tells whether the barrier is open for the instances of a step that are of the level's round.
func (l Level) Lifted(step int64) bool {
	_, entered := l.Entered(step)
	return entered && l.Phase == Running
}
