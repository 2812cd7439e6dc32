package group

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// twoSteps has a driver stage, which others wait for, and a worker stage.
var twoSteps = []coordination.Stage{
	{Prefix: "js-driver", Jobs: 1, Pods: 1, Release: coordination.ReleaseGate},
	{Prefix: "js-worker", Jobs: 2, Pods: 2, Step: 1},
}

func wanted(change ...func(*Wanted)) Wanted {
	w := Wanted{
		Token: coordination.Token{LeaseCreated: 7, Transitions: 1}, Generation: 2, Limit: 5, MaxPause: 32 * time.Second, Stages: twoSteps, Barrier: true,
	}
	for _, c := range change {
		c(&w)
	}
	return w
}

// stored returns the group that Next writes for the wanted group, with the given changes applied.
func stored(t *testing.T, w Wanted, change ...func(*rounds.Stored)) *rounds.Stored {
	t.Helper()
	write, _, err := Next(nil, w, "i1")
	if err != nil {
		t.Fatal(err)
	}
	o := &rounds.Stored{Text: write.State.String(), State: write.State, Config: write.Config, Finished: make([]int64, len(write.Config.Units))}
	o.State.Seq, o.State.Round, o.State.Started, o.State.Entered = 9, 3, 2, 2
	for _, c := range change {
		c(o)
	}
	return o
}

func finished(n ...int64) func(*rounds.Stored) { return func(o *rounds.Stored) { o.Finished = n } }

func TestNext(t *testing.T) {
	suspend := func(w *Wanted) { w.Suspended = true }
	for name, c := range map[string]struct {
		stored *rounds.Stored
		want   Wanted
		reason Reason // empty if nothing is written
		level  string
		config string // part of the expected configuration
	}{
		"nothing is stored": {nil, wanted(), Opens, "2 i2 2 0 A 0 0 0 - 0", "n0 1 e0 1 n1 4 e1 2 u:js-driver 0 1 1 0 gate u:js-worker 1 2 2 1 held"},
		"the store has lost the group": {
			nil, wanted(func(w *Wanted) { w.Round, w.Entered, w.Fenced = 3, 2, []string{"pod-a"} }), Opens, "2 i2 2 0 A 3 0 2 - 0", "x:pod-a 1",
		},
		"the group is new and suspended":        {nil, wanted(suspend), Opens, "2 i2 2 0 C 0 0 0 - 0", ""},
		"the group is as wanted":                {stored(t, wanted()), wanted(), "", "", ""},
		"a later generation":                    {stored(t, wanted()), wanted(func(w *Wanted) { w.Generation = 3 }), Regenerates, "2 i2 3 0 A 0 0 0 - 0", "gen 3"},
		"an earlier generation":                 {stored(t, wanted()), wanted(func(w *Wanted) { w.Generation = 1 }), "", "", ""},
		"suspended":                             {stored(t, wanted()), wanted(suspend), Closes, "2 i1 2 9 C 3 2 2 - 0", ""},
		"suspended already":                     {stored(t, wanted(suspend)), wanted(suspend), "", "", ""},
		"resumed":                               {stored(t, wanted(suspend)), wanted(), Resumes, "2 i2 2 0 A 3 0 2 - 0", ""},
		"more workers":                          {stored(t, wanted()), wanted(func(w *Wanted) { w.Stages = slices.Clone(twoSteps); w.Stages[1].Jobs = 3 }), Resizes, "2 i2 2 0 A 3 0 2 - 0", "n1 6"},
		"a larger budget":                       {stored(t, wanted()), wanted(func(w *Wanted) { w.Limit = 6 }), Adjusts, "2 i1 2 9 A 3 2 2 - 0", "limit 6"},
		"another leader":                        {stored(t, wanted()), wanted(func(w *Wanted) { w.Token.Transitions = 2 }), Adjusts, "2 i1 2 9 A 3 2 2 - 0", ""},
		"a restart has timed out":               {stored(t, wanted(), func(o *rounds.Stored) { o.State.Started = 1 }), wanted(func(w *Wanted) { w.GiveUp = true }), GivesUp, "2 i1 2 9 R 3 1 2 - 0", ""},
		"the restart has ended in the meantime": {stored(t, wanted()), wanted(func(w *Wanted) { w.GiveUp = true }), "", "", ""},
		"a stage that others wait for has finished": {
			stored(t, wanted(), finished(1, 0)), wanted(), Leaves, "2 i1 2 9 A 3 2 2 0 0", "n0 0",
		},
		"half of a stage has finished": {stored(t, wanted(), finished(0, 2)), wanted(), "", "", ""},
		"all have finished":            {stored(t, wanted(), finished(1, 4)), wanted(), Completes, "2 i1 2 9 D 3 2 2 - 0", ""},
		"all needed workers have finished": {
			stored(t, wanted(oneNeeded), finished(4, 0)), wanted(oneNeeded), Completes, "2 i1 2 9 D 3 2 2 - 0", "",
		},
		"workers that are not held have finished": {
			stored(t, wanted(unheld), finished(0, 4)), wanted(unheld), Leaves, "2 i1 2 9 A 3 2 2 1 0", "n1 0",
		},
		"the Jobs report a finished worker while the group is waiting for joins": {
			stored(t, wanted(unheld), func(o *rounds.Stored) { o.State.Started = 1 }), wanted(unheld, func(w *Wanted) { w.Finished = []string{"js-worker-0-1", "js-other-0-0"} }),
			Knows, "2 i1 2 9 A 3 1 2 - 0", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, found, err := Next(c.stored, c.want, "i2")
			if err != nil || found != (c.reason != "") {
				t.Fatalf("writes %t (%s), %v", found, w.Reason, err)
			}
			if !found {
				return
			}
			if level, _, _ := strings.Cut(w.State.String(), "|"); w.Reason != c.reason || level != c.level {
				t.Errorf("%s: %s\nwant %s: %s", w.Reason, level, c.reason, c.level)
			}
			if text := textOf(w); !strings.Contains(text, c.config) || !strings.Contains(text, "inc "+w.State.Incarnation+" ") {
				t.Errorf("%s does not contain %q", text, c.config)
			}
			if want := before(c.stored); w.Before != want {
				t.Errorf("replaces %q, want %q", w.Before, want)
			}
		})
	}
}

// If a worker has finished and is not held, a failure requires new Jobs. Workers of a stage that has left do not count.
func TestFinishedWorkersThatCannotRunAgain(t *testing.T) {
	container := func(w *Wanted) { w.Barrier = false }
	flagged := func(o *rounds.Stored) { o.State.Finished = true }
	jobs := func(slots ...string) func(*Wanted) { return func(w *Wanted) { w.Finished = slots } }
	for name, c := range map[string]struct {
		stored *rounds.Stored
		want   Wanted
		reason Reason
		needed bool
	}{
		"their stage leaves":                   {stored(t, wanted(container), finished(1, 0), flagged), wanted(container), Leaves, false},
		"another stage has some":               {stored(t, wanted(container), finished(1, 2), flagged), wanted(container), Leaves, true},
		"those of another stage are held":      {stored(t, wanted(), finished(1, 2), flagged), wanted(), Leaves, false},
		"the store has lost the group":         {nil, wanted(container, jobs("js-worker-0-1")), Opens, true},
		"a lost group whose workers are held":  {nil, wanted(jobs("js-worker-0-1")), Opens, false},
		"finished workers of a new generation": {stored(t, wanted()), wanted(container, jobs("js-worker-0-1"), func(w *Wanted) { w.Generation = 3 }), Regenerates, false},
	} {
		t.Run(name, func(t *testing.T) {
			w, _, err := Next(c.stored, c.want, "i2")
			if err != nil || w.Reason != c.reason || w.State.Finished != c.needed {
				t.Errorf("%s: %+v (%v)", w.Reason, w.State, err)
			}
		})
	}
}

// A dead worker's peers may hang, regardless of the group's new size.
func TestDeathIsKeptInAResize(t *testing.T) {
	s := stored(t, wanted(), func(o *rounds.Stored) {
		o.State.Started = 0
		o.State = o.State.WithDeath()
	})
	w, _, err := Next(s, wanted(func(w *Wanted) { w.Stages = slices.Clone(twoSteps); w.Stages[1].Jobs = 3 }), "i2")
	if err != nil || w.Reason != Resizes || !w.State.Died() {
		t.Errorf("%s: %s, %v", w.Reason, w.State, err)
	}
}

func oneNeeded(w *Wanted) {
	w.Stages = []coordination.Stage{{Prefix: "js-a", Jobs: 4, Pods: 1, Release: coordination.ReleaseNeeded}, {Prefix: "js-b", Jobs: 1, Pods: 1}}
	slices.Reverse(w.Stages)
	w.Stages[0].Step = 1
}

func unheld(w *Wanted) { w.Barrier = false }

// before returns the stored form of a state, or "" if there is no group.
func before(o *rounds.Stored) string {
	if o == nil {
		return ""
	}
	return o.Text
}

// textOf returns the configuration as it is passed to the store function.
func textOf(w Write) string {
	var words []string
	for _, a := range rounds.Set(w.Before, w.State, w.Config).Arguments[3:] {
		words = append(words, strings.TrimSpace(strings.Join(strings.Fields(fmt.Sprint(a)), " ")))
	}
	return strings.Join(words, " ")
}

// If the store has lost the fence of a released pod, the pod must be released again, because it may hold its slot. Writing the
// fence is not enough.
func TestLostFenceIsNotWritten(t *testing.T) {
	o := stored(t, wanted(), func(o *rounds.Stored) { o.Config.Fenced = []string{"pod-b"} })
	want := wanted(func(w *Wanted) { w.Fenced = []string{"pod-a", "pod-b"} })
	if w, found, err := Next(o, want, "i2"); found || err != nil {
		t.Errorf("writes %s, %v", w.Reason, err)
	}
}

// A finished worker that only the Jobs report is recorded before the state is written.
func TestFinishedSlots(t *testing.T) {
	w, _, err := Next(nil, wanted(func(w *Wanted) { w.Finished = []string{"js-driver-0-0", "js-worker-1-1", "js-worker-2-0"} }), "i1")
	if want := []rounds.FinishedSlot{{Unit: 0, Slot: "js-driver-0-0"}, {Unit: 1, Slot: "js-worker-1-1"}}; err != nil || !slices.Equal(w.Finished, want) {
		t.Errorf("%v, %v; want %v", w.Finished, err, want)
	}
}

// Too many combinations of step and release are rejected before anything is written.
func TestTooManyUnits(t *testing.T) {
	var stages []coordination.Stage
	for step := range int64(rounds.MaxUnits + 1) {
		stages = append(stages, coordination.Stage{Prefix: "js-" + fmt.Sprint(step), Jobs: 1, Pods: 1, Step: step})
	}
	if _, _, err := Next(nil, wanted(func(w *Wanted) { w.Stages = stages }), "i1"); err == nil || !strings.Contains(err.Error(), "64") {
		t.Errorf("65 steps: %v", err)
	}
	if _, _, err := Next(nil, wanted(func(w *Wanted) { w.Stages = stages[1:] }), "i1"); err != nil {
		t.Errorf("64 steps: %v", err)
	}
}
