package accounting

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/history"
)

var victim = coordination.Cause{
	Slot: "js-w-0-1", Kind: coordination.KindExit, ExitCode: 137, Signal: 9,
	Place: coordination.Place{PodName: "js-w-0-1-abcde", Node: "n1"},
}

func formed() coordination.Record {
	return coordination.Record{Generation: 1, ReportedAt: 100, InSyncAt: 500}
}

func restarted() coordination.Record {
	return coordination.Record{
		Generation: 1, Round: 1, Failure: coordination.Failure{Cause: victim, FailedAt: 1000, DetectedAt: 1003}, ReportedAt: 1010, InSyncAt: 2001,
	}
}

func changed(r coordination.Record, change func(*coordination.Record)) coordination.Record {
	change(&r)
	return r
}

func TestAccounts(t *testing.T) {
	failedOver := epoch.Record{Epoch: 2, Recreate: 2, Cause: "timeout/1/1"}
	again := coordination.Record{Generation: 2, ReportedAt: 61_100, InSyncAt: 65_100}
	slow := changed(restarted(), func(r *coordination.Record) { r.InSyncAt = 0 })
	timeout := coordination.Record{
		Generation: 1, Round: 2, Failure: coordination.Failure{Cause: coordination.Cause{Kind: coordination.KindTimeout}}, Ends: true, ReportedAt: 61_010,
	}
	cases := map[string]struct {
		group   Group
		records []coordination.Record
		want    []string
	}{
		"a formation is not a restart": {Group{}, []coordination.Record{formed()}, nil},
		"a formation that was abandoned after an abandoned restart": {
			Group{Epoch: epoch.Record{Epoch: 3, Recreate: 3, Cause: "forming/2/0"}},
			[]coordination.Record{slow, timeout, changed(again, func(r *coordination.Record) { r.Generation = 3 })},
			[]string{
				"1.1 00:00:01.000 in-place: exited with code 137 (SIGKILL) w-0-1/abcde@n1 [3 7 0 60000] abandoned counted=true",
				"3.0 00:01:01.100 recreation: workers had not joined in time /@ [0 0 0 4000] counted=true",
			}},
		"a restart ends when all workers are in sync": {Group{}, []coordination.Record{formed(), restarted()},
			[]string{"1.1 00:00:01.000 in-place: exited with code 137 (SIGKILL) w-0-1/abcde@n1 [3 7 0 991] counted=true"}},
		"a restart in progress has no account yet": {Group{}, []coordination.Record{slow}, nil},
		"unless no further record follows": {Group{Over: true}, []coordination.Record{slow},
			[]string{"1.1 00:00:01.000 in-place: exited with code 137 (SIGKILL) w-0-1/abcde@n1 [3 7 0 0] abandoned counted=true"}},
		"without an agent's report, a failure begins when the loss is reported": {Group{},
			[]coordination.Record{changed(restarted(), func(r *coordination.Record) { r.FailedAt, r.DetectedAt, r.Cause.Kind = 0, 0, coordination.KindPod })},
			[]string{"1.1 00:00:01.010 in-place: its pod was lost (SIGKILL) w-0-1/abcde@n1 [0 0 0 991] counted=true"}},
		"a clock that is ahead": {Group{},
			[]coordination.Record{changed(restarted(), func(r *coordination.Record) { r.FailedAt, r.DetectedAt = 5000, 5003 })},
			[]string{"1.1 00:00:01.010 in-place: exited with code 137 (SIGKILL) w-0-1/abcde@n1 [0 0 0 991] counted=true"}},
		"a failure by a clock that is behind begins no earlier than the end of the last restart": {Group{},
			[]coordination.Record{formed(), changed(restarted(), func(r *coordination.Record) { r.FailedAt, r.DetectedAt = 10, 13 })},
			[]string{"1.1 00:00:00.500 in-place: exited with code 137 (SIGKILL) w-0-1/abcde@n1 [0 510 0 991] counted=true"}},
		"a restart that was overtaken ends when the next one begins": {Group{}, []coordination.Record{
			slow,
			changed(restarted(), func(r *coordination.Record) {
				r.Round, r.FailedAt, r.DetectedAt, r.ReportedAt, r.InSyncAt = 2, 1950, 1951, 2000, 2900
			}),
		}, []string{
			"1.1 00:00:01.000 in-place: exited with code 137 (SIGKILL) w-0-1/abcde@n1 [3 7 0 990] overtaken counted=true",
			"1.2 00:00:02.000 in-place: exited with code 137 (SIGKILL) w-0-1/abcde@n1 [0 0 0 900] counted=true",
		}},
		"a failure after the budget is used up is not a restart": {Group{}, []coordination.Record{changed(slow, func(r *coordination.Record) { r.Ends = true })}, nil},
		"a recreation continues where the in-place restart was abandoned": {Group{Epoch: failedOver}, []coordination.Record{slow, timeout, again}, []string{
			"1.1 00:00:01.000 in-place: exited with code 137 (SIGKILL) w-0-1/abcde@n1 [3 7 0 60000] abandoned counted=true",
			"2.0 00:01:01.010 recreation: the previous restart timed out /@ [0 90 0 4000] counted=true",
		}},
		"a recreation without a preceding in-place restart": {Group{Epoch: epoch.Record{Epoch: 2, Recreate: 2, Cause: "exit/1/0"}},
			[]coordination.Record{changed(slow, func(r *coordination.Record) {
				r.Ends, r.FailedAt, r.DetectedAt, r.ReportedAt = true, 60_000, 60_005, 60_010
			}), again},
			[]string{"2.0 00:01:00.000 recreation: exited with code 137 (SIGKILL) w-0-1/abcde@n1 [5 1095 0 4000] counted=true"}},
		"a recreation after the store has lost its cause": {Group{Epoch: failedOver}, []coordination.Record{again},
			[]string{"2.0 00:01:01.100 recreation: the previous restart timed out /@ [0 0 0 4000] counted=true"}},
		"a resume is not a restart": {Group{Epoch: epoch.Record{Epoch: 2, Cause: "suspend/1"}}, []coordination.Record{restarted(), again},
			[]string{"1.1 00:00:01.000 in-place: exited with code 137 (SIGKILL) w-0-1/abcde@n1 [3 7 0 991] counted=true"}},
		"a restart by the failure policy": {
			Group{Epoch: epoch.Record{Epoch: 2, Cause: "recreate/1"}, PolicyPrefix: "recreate/"}, []coordination.Record{again},
			[]string{"2.0 00:01:01.100 recreation: policy /@ [0 0 0 4000] counted=false"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.group.JobSet = "js"
			var got []string
			for _, a := range Of(tc.group, tc.records) {
				got = append(got, line(a.Entry))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Members can forge the store's times. A negative duration would make a counter panic.
func TestForgedTimes(t *testing.T) {
	r := changed(restarted(), func(r *coordination.Record) { r.InSyncAt = 1 })
	for _, a := range Of(Group{}, []coordination.Record{r}) {
		if a.Lost() < 0 {
			t.Errorf("a restart that ended before it began lost %s", a.Lost())
		}
	}
}

// For any records, no phase is negative, the phases add up to the outage, and outages do not overlap.
func TestPhasesDivideTheOutage(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	moment := func(around int64) int64 {
		if r.IntN(5) == 0 {
			return 0
		}
		return around + r.Int64N(400) - 100
	}
	accounts := 0
	for n := range 50_000 {
		var records []coordination.Record
		at := int64(1000)
		for round := range int64(1 + r.IntN(5)) {
			at += r.Int64N(1000)
			one := coordination.Record{
				Generation: 1, Round: round + 1, Failure: coordination.Failure{FailedAt: moment(at), DetectedAt: moment(at)}, ReportedAt: at,
			}
			if r.IntN(3) > 0 {
				at += 1 + r.Int64N(500)
				one.InSyncAt = at
			}
			records = append(records, one)
		}
		var last time.Time
		for _, a := range Of(Group{JobSet: "js"}, records) {
			for phase, took := range a.Took {
				if took < 0 {
					t.Fatalf("%d: %s takes %d ms in %+v", n, history.Phase(phase), took, records)
				}
			}
			if a.FailedAt.Before(last) {
				t.Fatalf("%d: %+v begins before the previous outage ended at %s: %+v", n, a, last, records)
			}
			last = a.FailedAt.Add(a.Lost())
			record := records[a.Round-1]
			end := record.InSyncAt
			if a.Ended != history.Running {
				end = records[a.Round].ReportedAt
			}
			if got := last.UnixMilli(); got != end {
				t.Fatalf("%d: %s ends at %d, want %d: %+v", n, fmt.Sprint(a.Entry), got, end, records)
			}
			accounts++
		}
	}
	if accounts < 50_000 {
		t.Errorf("only %d accounts, so the test shows nothing", accounts)
	}
}

// line returns the fields of an entry in one line.
func line(e history.Entry) string {
	text := fmt.Sprintf("%d.%d %s %s: %s %s/%s@%s %v %s counted=%t", e.Epoch, e.Round, e.FailedAt.Format("15:04:05.000"), e.Kind, e.Cause,
		e.Worker, e.Pod, e.Node, e.Took, e.Ended, e.Counted)
	return strings.Join(strings.Fields(text), " ")
}
