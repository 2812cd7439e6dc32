package functions

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// fields reads a packed record: fields in a fixed order, separated by one blank; a field may be empty. The first field
// that is foreign is kept in err.
type fields struct {
	raw   string
	parts []string
	err   error
}

func split(raw string, n int) *fields {
	f := &fields{raw: raw, parts: strings.Split(raw, " ")}
	if len(f.parts) != n {
		f.err = fmt.Errorf("%w: %.80q has %d fields, want %d", coordination.ErrForeignValue, raw, len(f.parts), n)
	}
	return f
}

func (f *fields) word() string {
	if f.err != nil {
		return ""
	}
	w := f.parts[0]
	f.parts = f.parts[1:]
	return w
}

func (f *fields) number(least int64) int64 {
	w := f.word()
	if f.err != nil {
		return 0
	}
	n, err := strconv.ParseInt(w, 10, 64)
	if err != nil || n < least || n > coordination.MaxCount {
		f.err = fmt.Errorf("%w: %.80q holds %.80q for a number", coordination.ErrForeignValue, f.raw, w)
	}
	return n
}

func (f *fields) count() int64 { return f.number(0) }

func (f *fields) bit() bool {
	w := f.word()
	if f.err == nil && w != "0" && w != "1" {
		f.err = fmt.Errorf("%w: %.80q holds %.80q for a bit", coordination.ErrForeignValue, f.raw, w)
	}
	return w == "1"
}

// parseRecord reads CAUSE_AND_TIMES and TALLY of lua/20_records.lua.
func parseRecord(s string) (coordination.Record, error) {
	f := split(s, 21)
	r := coordination.Record{
		Epoch: f.count(), Round: f.count(),
		Cause: coordination.Cause{
			Slot: f.word(), Kind: f.word(), ExitCode: f.number(-coordination.MaxCount),
			Place: coordination.Place{PodName: f.word(), Node: f.word()}, Signal: f.count(), Reason: f.word(),
		},
		FailedAt: f.count(), DetectedAt: f.count(), ReportedAt: f.count(), InSyncAt: f.count(),
		LastDownAt: f.count(), FirstUpAt: f.count(), LastUpAt: f.count(), LastStartAt: f.count(),
		Downs: f.count(), Ups: f.count(), Starts: f.count(), Coalesced: f.count(),
	}
	return r, f.err
}

// ParseHistory reads the list of finished records of a group.
func ParseHistory(group string, list []string) ([]coordination.Record, error) {
	records := make([]coordination.Record, len(list))
	for i, s := range list {
		r, err := parseRecord(s)
		if err != nil {
			return nil, &coordination.ForeignValueError{Key: HistoryKey(group), Field: strconv.Itoa(i), Value: s}
		}
		records[i] = r
	}
	return records, nil
}

func formatToken(t coordination.Token) string {
	return fmt.Sprintf("%d %d", t.LeaseCreated, t.Transitions)
}

func parseToken(s string) (coordination.Token, error) {
	f := split(s, 2)
	return coordination.Token{LeaseCreated: f.count(), Transitions: f.count()}, f.err
}

// Lists have a record on each line.
func formatStages(stages []coordination.Stage) string {
	list := make([]string, len(stages))
	for i, s := range stages {
		list[i] = s.String()
	}
	return strings.Join(list, "\n")
}

func parseList[T any](s string, parse func(line string) (T, error)) ([]T, error) {
	var list []T
	for line := range strings.SplitSeq(s, "\n") {
		one, err := parse(line)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}

func parseStage(line string) (coordination.Stage, error) {
	f := split(line, 5)
	s := coordination.Stage{Prefix: f.word(), Jobs: f.count(), Pods: f.count(), Step: f.count()}
	release, err := coordination.ParseRelease(f.word())
	if f.err == nil && err != nil {
		f.err = fmt.Errorf("%w: %.80q: %v", coordination.ErrForeignValue, line, err)
	}
	s.Release = release
	return s, f.err
}

func parseStageCount(line string) (coordination.Count, error) {
	f := split(line, 4)
	return coordination.Count{Joined: f.count(), Done: f.count(), Gone: f.count(), Left: f.bit()}, f.err
}
