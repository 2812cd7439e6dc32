package valkey

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

func parseCount(s string) (int64, error) {
	f := split(s, 1)
	return f.count(), f.err
}

// parseRecord reads CAUSE_AND_TIMES and TALLY of lua/20_records.lua.
func parseRecord(s string) (coordination.Record, error) {
	f := split(s, 14)
	r := coordination.Record{
		Epoch: f.count(), Round: f.count(),
		Cause:    coordination.Cause{Slot: f.word(), Kind: f.word(), ExitCode: f.number(-coordination.MaxCount)},
		FailedAt: f.count(), DetectedAt: f.count(), ReportedAt: f.count(), InSyncAt: f.count(),
		LastDownAt: f.count(), LastUpAt: f.count(),
		Downs: f.count(), Ups: f.count(), Coalesced: f.count(),
	}
	return r, f.err
}

func parseHistory(group string, list []string) ([]coordination.Record, error) {
	records := make([]coordination.Record, len(list))
	for i, s := range list {
		r, err := parseRecord(s)
		if err != nil {
			return nil, &coordination.ForeignValueError{Key: historyKey(group), Field: strconv.Itoa(i), Value: s}
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

func formatStages(stages []coordination.Stage) string {
	list := make([]string, len(stages))
	for i, s := range stages {
		list[i] = s.String()
	}
	return strings.Join(list, " ")
}

func parseStages(s string) ([]coordination.Stage, error) {
	n := strings.Count(s, " ") + 1
	f := split(s, n-n%3)
	var stages []coordination.Stage
	for len(f.parts) > 0 && f.err == nil {
		stages = append(stages, coordination.Stage{Prefix: f.word(), Jobs: f.count(), Pods: f.count()})
	}
	return stages, f.err
}
