package contract

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

func testRecords(t *testing.T, newStore func(t *testing.T) Harness) {
	t.Run("the times of a restart are all there and in order", func(t *testing.T) { testTimes(t, newStore(t)) })
	t.Run("the death of the instance before may come with a join", func(t *testing.T) { testGone(t, newStore(t)) })
	t.Run("only the last hundred records are kept", func(t *testing.T) { testHistoryLength(t, newStore(t)) })
	t.Run("no more than ten thousand missing slots are listed", func(t *testing.T) { testMissingLimit(t, newStore(t)) })
	t.Run("the largest numbers come back as they went", func(t *testing.T) { testLargeNumbers(t, newStore(t)) })
}

func testTimes(t *testing.T, h Harness) {
	runScript(t, h, `
		open
		join 0a 1a 2a
		down 1a code=137
		down 0a code=143 ordered
		down 2a code=143 ordered
		join 0b 1b 2b => Running(1) 3/3`)
	history, err := h.Store.History(t.Context(), group)
	if err != nil || len(history) != 2 {
		t.Fatalf("history %v, error %v; want 2 records", history, err)
	}
	formed, r := history[0], history[1]
	if formed.Round != 0 || formed.Epoch != 1 || formed.InSyncAt < formed.LastUpAt || formed.LastUpAt < formed.ReportedAt || formed.ReportedAt < 1 {
		t.Errorf("formation %+v", formed)
	}
	if r.FailedAt != 11 || r.DetectedAt != 12 {
		t.Errorf("the agent's times are %d and %d, want 11 and 12", r.FailedAt, r.DetectedAt)
	}
	if r.ReportedAt < formed.InSyncAt || r.LastDownAt < r.ReportedAt || r.LastUpAt < r.LastDownAt || r.InSyncAt < r.LastUpAt {
		t.Errorf("times out of order: %+v", r)
	}
}

// testGone: an instance that was stopped on an order and its successor are told at once, with how long ago that was.
func testGone(t *testing.T, h Harness) {
	runScript(t, h, `
		open
		join 0a 1a 2a barrier
		down 1a code=137 barrier
		join 1b barrier
		join 0b barrier gone=1 => Restarting(1) 2/3 downs=2 coalesced=0 clean
		join 2b barrier gone=3600000 => Running(1) 3/3 downs=3 coalesced=0`)
	history, err := h.Store.History(t.Context(), group)
	if err != nil || len(history) != 2 {
		t.Fatalf("history %v, error %v; want 2 records", history, err)
	}
	if r := history[1]; r.LastDownAt < r.ReportedAt || r.LastDownAt > r.LastUpAt {
		t.Errorf("an earlier death moved the last one: %+v", r)
	}
}

func testHistoryLength(t *testing.T, h Harness) {
	open := "open stages=w:1x1 limit=200"
	runScript(t, h, open)
	m, i := speaker("0a")
	for n := range int64(coordination.HistoryLength + 6) {
		i.ID, i.Born = fmt.Sprint("i", n), n
		if _, err := h.Store.Join(t.Context(), group, coordination.Join{Member: m, Instance: i, Seen: coordination.Unseen()}); err != nil {
			t.Fatal(err)
		}
	}
	history, err := h.Store.History(t.Context(), group)
	if err != nil || len(history) != coordination.HistoryLength {
		t.Fatalf("%d records, error %v; want %d", len(history), err, coordination.HistoryLength)
	}
	if first, last := history[0].Round, history[len(history)-1].Round; first != 6 || last != coordination.HistoryLength+5 {
		t.Errorf("rounds %d to %d, want 6 to %d", first, last, coordination.HistoryLength+5)
	}
}

func testMissingLimit(t *testing.T, h Harness) {
	runScript(t, h, "open stages=w:1x1")
	open := defaults("open").Open
	open.Stages = stage("js-w", 1, 1<<20)
	if _, err := h.Store.Open(t.Context(), "uid-2", open); err != nil {
		t.Fatal(err)
	}
	missing, err := h.Store.Missing(t.Context(), "uid-2")
	if err != nil || len(missing) != coordination.MissingLimit {
		t.Fatalf("%d slots, error %v; want %d", len(missing), err, coordination.MissingLimit)
	}
	if last, want := missing[len(missing)-1], "js-w-0-9999"; last != want {
		t.Errorf("the last is %s, want %s", last, want)
	}
}

func testLargeNumbers(t *testing.T, h Harness) {
	const most = coordination.MaxCount
	ctx := t.Context()
	open := defaults("open").Open
	open.Epoch, open.Limit, open.Token = most, most, coordination.Token{LeaseCreated: most, Transitions: most}
	open.Stages = stage("js-w", 1, 1<<20)
	open.Recover = true
	if _, err := h.Store.Open(ctx, group, open); err != nil {
		t.Fatal(err)
	}
	m, i := speaker("0a")
	m.PodBorn, i.Born = time.Now().Add(23*time.Hour).UnixMicro(), time.Now().Add(23*time.Hour).UnixMicro()
	seen := coordination.Seen{Epoch: most, Round: most - 1, Holds: true, Running: true, Instances: most - 1}
	reply, err := h.Store.Join(ctx, group, coordination.Join{Member: m, Instance: i, Seen: seen})
	if err != nil || reply.Round != most-1 {
		t.Fatalf("reply %+v, error %v; want round %d", reply, err, int64(most-1))
	}
	s, err := h.Store.Summary(ctx, group)
	if err != nil || s.Epoch != most || s.Limit != most || s.Token != open.Token || s.Size != 1<<20 {
		t.Errorf("summary %+v, error %v", s, err)
	}
}
