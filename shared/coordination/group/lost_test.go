package group

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/coordination/simulation/memory"
)

// A worker dies while the store is unreachable, and the store comes back empty. The worker's agent may be the first to report. The
// workers of its round were already running, so the death opens the next round immediately, and the new instances join that round.
func TestDeathIsTheFirstReportToAnEmptyStore(t *testing.T) {
	server, err := memory.NewServer(memory.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	want := Wanted{Generation: 1, Limit: 5, Stages: []coordination.Stage{{Prefix: "w", Jobs: 1, Pods: 2}}, Round: 1, Entered: 1}
	w, _, err := Next(nil, want, "fresh")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := server.Set("uid", w.Before, w.State, w.Config, nil, nil); err != nil {
		t.Fatal(err)
	}
	dead, peer := rounds.Slot{Name: "w-0-0", Pod: "p0"}, rounds.Slot{Name: "w-0-1", Pod: "p1"}
	call := func(c rounds.Call) rounds.Level {
		t.Helper()
		_, l, err := server.Call("uid", c)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	l := call(rounds.Down("fresh", 0, rounds.Death{Slot: dead, ID: "a", Round: 1, Ran: true, Saw: true, Cause: "exit"}))
	if l.Round != 2 || !l.Restarting() {
		t.Fatalf("after the death, the level is %s", l)
	}
	for i, s := range []rounds.Slot{dead, peer} {
		member := rounds.Member{Slot: s, ID: fmt.Sprint("b", i), Attempt: 2, Ran: true, Past: rounds.Past{Kind: rounds.PastRan}}
		l = call(rounds.Join("fresh", 0, 2, 1, member))
	}
	if l.Round != 2 || !l.Running() {
		t.Errorf("after all have rejoined, the level is %s: a worker is restarted twice", l)
	}
}
