package functions

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

func parseLevel(s string) (coordination.Level, error) {
	l, err := coordination.ParseLevel(s)
	if err != nil {
		return l, fmt.Errorf("%w: %v", coordination.ErrForeignValue, err)
	}
	return l, nil
}

// ParseReply reads what join, down and ask return: the level, and then round step stage released, and newest if it is there.
func ParseReply(list []string) (coordination.Reply, error) {
	if len(list) != 2 {
		return coordination.Reply{}, fmt.Errorf("%w: a reply of %d parts, want 2", coordination.ErrForeignValue, len(list))
	}
	level, errLevel := parseLevel(list[0])
	hasNewest := strings.Count(list[1], " ") == 4
	f := split(list[1], 4+bit(hasNewest))
	r := coordination.Reply{
		Level: level, Round: f.number(coordination.NoRound), Step: f.count(), Stage: f.count(), Released: f.bit(),
	}
	if hasNewest {
		r.Newest = f.count()
	}
	if err := errors.Join(errLevel, f.err); err != nil {
		return coordination.Reply{}, err
	}
	return r, nil
}

// ParseSummary reads what the leader's functions return: level token limit size joined done dirty stages counts record maxDelay.
func ParseSummary(list []string) (coordination.Summary, error) {
	if len(list) != 11 {
		return coordination.Summary{}, fmt.Errorf("%w: a summary of %d parts, want 11", coordination.ErrForeignValue, len(list))
	}
	var errs [7]error
	var s coordination.Summary
	s.Level, errs[0] = parseLevel(list[0])
	s.Token, errs[1] = parseToken(list[1])
	numbers := split(strings.Join(list[2:7], " "), 5)
	s.Limit, s.Size, s.Joined, s.Done = numbers.count(), numbers.count(), numbers.count(), numbers.count()
	s.Dirty, errs[2] = numbers.bit(), numbers.err
	s.Stages, errs[3] = parseList(list[7], parseStage)
	s.Counts, errs[4] = parseList(list[8], parseStageCount)
	s.Record, errs[5] = parseRecord(list[9])
	delay := split(list[10], 1)
	s.MaxDelay, errs[6] = time.Duration(delay.count())*time.Millisecond, delay.err
	if err := errors.Join(errs[:]...); err != nil {
		return coordination.Summary{}, err
	}
	return s, nil
}
