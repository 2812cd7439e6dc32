package valkey

import (
	"errors"
	"fmt"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

func parseLevel(s string) (coordination.Level, error) {
	l, err := coordination.ParseLevel(s)
	if err != nil {
		return l, fmt.Errorf("%w: %v", coordination.ErrForeignValue, err)
	}
	return l, nil
}

// parseReply reads what join, down and ask return: the level and the round.
func parseReply(list []string) (coordination.Reply, error) {
	if len(list) != 2 {
		return coordination.Reply{}, fmt.Errorf("%w: a reply of %d parts, want 2", coordination.ErrForeignValue, len(list))
	}
	level, errLevel := parseLevel(list[0])
	f := split(list[1], 1)
	r := coordination.Reply{Level: level, Round: f.number(coordination.NoRound)}
	if err := errors.Join(errLevel, f.err); err != nil {
		return coordination.Reply{}, err
	}
	return r, nil
}

// parseSummary reads what the leader's functions return: level token limit joined done dirty stages record.
func parseSummary(list []string) (coordination.Summary, error) {
	if len(list) != 8 {
		return coordination.Summary{}, fmt.Errorf("%w: a summary of %d parts, want 8", coordination.ErrForeignValue, len(list))
	}
	var errs [7]error
	s := coordination.Summary{Dirty: list[5] != ""}
	s.Level, errs[0] = parseLevel(list[0])
	s.Token, errs[1] = parseToken(list[1])
	s.Limit, errs[2] = parseCount(list[2])
	s.Joined, errs[3] = parseCount(list[3])
	s.Done, errs[4] = parseCount(list[4])
	s.Stages, errs[5] = parseStages(list[6])
	s.Record, errs[6] = parseRecord(list[7])
	if err := errors.Join(errs[:]...); err != nil {
		return coordination.Summary{}, err
	}
	for _, stage := range s.Stages {
		s.Size += stage.Slots()
	}
	return s, nil
}
