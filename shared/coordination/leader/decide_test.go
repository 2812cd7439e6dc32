package leader

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/forming"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/recovering"
	"github.com/holdfast-project/holdfast/shared/restart"
)

var (
	stages = []coordination.Stage{{Prefix: "js-w", Jobs: 1, Pods: 8}}
	now    = time.Unix(100_000, 0)
)

// scene is the input to a plan.
type scene struct {
	Observation
	memory Memory
}

// level parses a phase, a round, and the numbers of started and entered units.
func level(text string) rounds.Level {
	l := rounds.Level{Incarnation: "i", Generation: 2, Seq: 7, Left: rounds.NoUnits}
	if _, err := fmt.Sscanf(text, "%s %d %d/%d", &l.Phase, &l.Round, &l.Started, &l.Entered); err != nil {
		panic(err)
	}
	return l
}

// nobody returns a scene in which no group is wanted.
func nobody(change func(*scene)) *scene {
	s := &scene{}
	if change != nil {
		change(s)
	}
	return s
}

// steady returns a scene in which a group of epoch 2 is in sync. Two restarts were charged before the epoch and one in it; 5 are
// allowed.
func steady(change func(*scene)) *scene {
	s := &scene{Observation: Observation{
		Owner: Owner{
			Wanted: &group.Wanted{Stages: stages, Barrier: true}, Epoch: epoch.Record{Epoch: 2, Base: 2}, Budget: 5, Charged: 3, Counted: true,
			Timeout: time.Minute, InSync: &Condition{True: true, Reason: ReasonRunning},
		},
		Stored: &rounds.Stored{
			State: rounds.Fresh(level("A 1 1/1"), 1),
			Config: rounds.Config{
				Incarnation: "i", Generation: 2, Limit: 3, Units: []rounds.Unit{{Slots: 8, End: 1}}, Stages: []rounds.Bounds{{Stage: stages[0]}},
			},
			Joined: []int64{8}, Finished: []int64{0},
		},
		Jobs:  []*workload.Job{{Name: "js-w-0", UID: "job", Stage: "js-w", Generation: 2, Current: true, Findable: true, MadePods: true, Indexes: 8, Pods: 8}},
		Began: now, Incarnation: "fresh",
	}}
	for index := range 8 {
		s.Pods = append(s.Pods, pod(index))
	}
	if change != nil {
		change(s)
	}
	return s
}

// pod returns a running pod with the given index.
func pod(index int) *workload.Pod {
	return &workload.Pod{
		Name: fmt.Sprint("p", index), UID: fmt.Sprint("uid", index), Slot: fmt.Sprint("js-w-0-", index), Job: "job", Generation: 2, Node: "n", Phase: workload.Running,
		Created: now.Add(-time.Hour),
	}
}

// at returns a steady scene at another level.
func at(text string, change func(*scene)) *scene {
	return steady(func(s *scene) {
		s.Stored.State = rounds.Fresh(level(text), 1)
		if change != nil {
			change(s)
		}
	})
}

// overdue makes the restart time out.
func overdue(s *scene) {
	l := s.Stored.State.Level
	s.memory.restart = &restartMemory{Round: Round{l.Generation, l.Round}, since: now.Add(-time.Hour)}
}

func mark(deadline time.Duration) func(*scene) {
	return func(s *scene) {
		state := recovering.State{Level: recovering.LevelProcess, Deadline: now.Add(deadline)}
		s.Owner.Annotations = map[string]string{recovering.Annotation: state.Format()}
	}
}

var marked, outdated = mark(time.Minute), mark(-time.Minute)

// text formats the part of a plan that comes from the rules up to mark.
func text(p Plan) string {
	if p.Err != nil {
		return p.Err.Error()
	}
	if last := slices.IndexFunc(forJobs, func(r rule) bool { return r.name == "mark" }); slices.IndexFunc(forJobs, func(r rule) bool { return r.name == p.Rule }) > last {
		return ""
	}
	var words []string
	for _, action := range p.Actions {
		switch a := action.(type) {
		case DropGroup:
			words = append(words, "Drop")
		case WriteGroup:
			words = append(words, "Write", string(a.Reason)+":", a.State.Level.String(), "limit", fmt.Sprint(a.Config.Limit))
		case Annotate:
			words = append(words, annotationText(a))
		}
	}
	return strings.Join(words, " ")
}

func annotationText(a Annotate) string {
	switch {
	case a.Epoch != nil && a.Charged != nil:
		return fmt.Sprintf("Recreate %+v %d", *a.Epoch, *a.Charged)
	case a.Epoch != nil:
		return fmt.Sprintf("Restore %+v", *a.Epoch)
	case a.Charged != nil && a.Recovering != nil:
		return fmt.Sprintf("Charge %d marked", *a.Charged)
	case a.Charged != nil:
		return fmt.Sprintf("Charge %d", *a.Charged)
	case a.Recovering != nil:
		return "Mark"
	}
	return "Unmark"
}

func because(cause string) func(*scene) {
	return func(s *scene) {
		s.Stored.Lines = []rounds.Line{{Generation: 2, Round: s.Stored.State.Round + 1, Ends: true, Slot: "-", Cause: cause}}
	}
}

func TestGroupAndCharges(t *testing.T) {
	for name, c := range map[string]struct {
		in   *scene
		want string
	}{
		"in sync and charged: nothing":                {steady(nil), ""},
		"no group wanted and none stored: nothing":    {nobody(nil), ""},
		"no group wanted: it is dropped":              {steady(func(in *scene) { in.Owner.Wanted, in.Owner.Deleted = nil, true }), "Drop"},
		"unreadable data without an owner is dropped": {nobody(func(s *scene) { s.Foreign = coordination.ErrForeignValue; s.Reads.HistoryRead = true }), "Drop"},
		"a new JobSet opens its group": {
			steady(func(in *scene) {
				in.Stored, in.Owner.Counted, in.Owner.Charged, in.Owner.Epoch = nil, false, 0, epoch.First()
			}),
			"Write the group is new, or the store has lost it: 2 fresh 1 0 A 0 0 0 - 0 limit 5",
		},
		"a group that the store has lost is restored at the charged round": {
			steady(func(in *scene) { in.Stored = nil }),
			"Write the group is new, or the store has lost it: 2 fresh 2 0 A 1 0 1 - 0 limit 3",
		},
		"unreadable data is discarded": {
			steady(func(in *scene) { in.Stored, in.Foreign = nil, coordination.ErrForeignValue }),
			"Write the group is new, or the store has lost it: 2 fresh 2 0 A 1 0 1 - 0 limit 3",
		},
		"the count starts at 0": {
			at("A 0 1/1", func(in *scene) {
				in.Owner.Counted, in.Owner.Charged, in.Owner.Epoch, in.Stored.Config.Limit = false, 0, epoch.Record{Epoch: 2}, 5
			}), "Charge 0",
		},
		"a round in progress is charged and marked in one write":                 {at("A 2 0/1", nil), "Charge 4 marked"},
		"a restart without a charge is marked by itself":                         {at("A 1 0/1", nil), "Mark"},
		"an outdated mark is written again":                                      {at("A 1 0/1", outdated), "Mark"},
		"a mark is removed when the group is in sync":                            {steady(marked), "Unmark"},
		"so is an unreadable mark":                                               {steady(outdated), "Unmark"},
		"a mark is removed with the group":                                       {nobody(marked), "Unmark"},
		"a round is charged":                                                     {at("A 2 1/1", nil), "Charge 4"},
		"a forged round beyond the budget counts as the failure that exceeds it": {at("A 1000 1/1", nil), "Charge 6"},
		"a count that is ahead is never lowered":                                 {steady(func(in *scene) { in.Owner.Charged = 5 }), ""},
		"the failure after the last restart makes the count exceed the budget": {
			at("B 3 1/1", func(in *scene) { in.Owner.Charged = 5 }), "Charge 6",
		},
		"suspending closes the group": {
			steady(func(in *scene) { in.Owner.Wanted.Suspended = true }), "Write the owner is suspended: 2 i 2 7 C 1 1 1 - 0 limit 3",
		},
		"a closed group is left alone": {at("C 1 1/1", func(in *scene) { in.Owner.Wanted.Suspended, in.Owner.Charged = true, 0 }), ""},
		"resuming opens it":            {at("C 1 1/1", nil), "Write the owner is resumed: 2 fresh 2 0 A 1 0 1 - 0 limit 3"},
		"a later epoch starts the next generation": {
			steady(func(in *scene) { in.Owner.Epoch = epoch.Record{Epoch: 3, Base: 3} }), "Write the owner has emptied the group: 2 fresh 3 0 A 0 0 0 - 0 limit 2",
		},
		"a changed size is written": {
			steady(func(in *scene) { in.Owner.Wanted.Stages = []coordination.Stage{{Prefix: "js-w", Jobs: 1, Pods: 7}} }),
			"Write the stages have changed: 2 fresh 2 0 A 1 0 1 - 0 limit 3",
		},
		"a new leader writes its token": {
			steady(func(in *scene) { in.Token.Transitions = 2 }), "Write the budget, the longest pause or the leader has changed: 2 i 2 7 A 1 1 1 - 0 limit 3",
		},
		"without a barrier, there are no pauses": {steady(func(in *scene) { in.Owner.Wanted.Barrier, in.Owner.Wanted.MaxPause = false, 1e9 }), ""},
		"a group that has finished is completed": {
			steady(func(in *scene) { in.Stored.Finished = []int64{8} }), "Write all that is needed has finished: 2 i 2 7 D 1 1 1 - 0 limit 3",
		},
		"nothing is done for a completed group":                 {at("D 1 1/1", overdue), ""},
		"the last round of a completed group is charged":        {at("D 2 1/1", nil), "Charge 4"},
		"the mark is removed when a restart ends in completion": {at("D 1 1/1", marked), "Unmark"},
		"a lost epoch annotation is written again":              {steady(func(in *scene) { in.Owner.Epoch = epoch.First() }), "Restore {Epoch:2 Base:2 Early:0 Recreate:0 Restarts:0 Counted:0 After:0 Cause:restored}"},
		"a round within its timeout continues":                  {at("A 1 0/1", marked), ""},
		"a round that timed out is abandoned":                   {at("A 1 0/1", overdue), "Write the restart has used up its time: 2 i 2 7 R 1 0 1 - 0 limit 3"},
		"a round that timed out is charged first":               {at("A 2 0/1", overdue), "Charge 4"},
		"forming has no restart timeout":                        {at("A 1 0/0", overdue), ""},
		"a group that cannot restart in place is recreated":     {at("R 1 0/1", because("timeout")), "Recreate {Epoch:3 Base:4 Early:0 Recreate:3 Restarts:0 Counted:0 After:0 Cause:timeout/2/1} 4"},
		"without budget, a recreation is charged but not done":  {at("R 3 0/1", func(in *scene) { in.Owner.Charged = 5 }), "Charge 6"},
		"that charge is made once":                              {at("R 3 0/1", func(in *scene) { in.Owner.Charged = 6 }), ""},
		"a full recreation that was written is not written again": {
			at("R 1 0/1", func(in *scene) { because("timeout")(in); in.Owner.Epoch.Cause = "timeout/2/1" }), "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := text(Decide(&c.in.Observation, &c.in.memory, now)); got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestTooManyUnits(t *testing.T) {
	s := steady(func(in *scene) {
		in.Owner.Wanted.Stages = nil
		for step := range int64(rounds.MaxUnits + 1) {
			in.Owner.Wanted.Stages = append(in.Owner.Wanted.Stages, coordination.Stage{Prefix: fmt.Sprint("s", step), Jobs: 1, Pods: 1, Step: step})
		}
	})
	if err := Decide(&s.Observation, &s.memory, now).Err; err == nil || !strings.Contains(err.Error(), "support 64") {
		t.Error(err)
	}
}

// A restart that does not fit into the history would otherwise be written repeatedly.
func TestForgedRestartsAreNotWritten(t *testing.T) {
	for name, at := range map[string]Round{"round": {1, 1 << 41}, "generation": {1 << 41, 1}} {
		s := steady(func(s *scene) {
			s.memory.holdersKnown, s.Reads.HistoryRead = now, true
			for n := range int64(2) {
				s.Reads.History = append(s.Reads.History, rounds.Line{Generation: at.Generation, Round: at.Round + n, OpenedAt: now, Slot: "js-w-0-0", Cause: "exit"})
			}
		})
		if plan := Decide(&s.Observation, &s.memory, now); plan.Rule == "history" {
			t.Errorf("a forged %s is written: %v", name, plan.Actions)
		}
	}
}

// settled returns a scene in which the history has been read and the condition written, so that the plan only concerns pods.
func settled(change func(*scene)) *scene {
	return steady(func(s *scene) {
		s.memory.accounted = s.Stored.State.Level
		s.memory.holdersKnown = now
		change(s)
	})
}

// lose removes the pods with the given indexes from the cache.
func lose(indexes ...int) func(*scene) {
	return func(s *scene) {
		s.Pods = slices.DeleteFunc(s.Pods, func(p *workload.Pod) bool {
			_, index := workload.JobOf(p.Slot)
			return slices.Contains(indexes, index)
		})
	}
}

// answer answers a plan's reads like an API server that has no pods for the slots.
func (s *scene) answer(p Plan) {
	for _, slot := range p.Need.Slots {
		if s.Reads.Slots == nil {
			s.Reads.Slots = map[string]SlotRead{}
		}
		s.Reads.Slots[slot.Slot] = SlotRead{At: now}
	}
	for _, job := range p.Need.Jobs {
		s.Reads.Jobs = map[string]*workload.Job{job.Name: job}
	}
}

func (s *scene) decide() Plan { return Decide(&s.Observation, &s.memory, now) }

func TestLostSlotIsReadOncePerReconcile(t *testing.T) {
	s := settled(lose(3))
	first := s.decide()
	if first.Rule != "replacement" || len(first.Actions) > 0 || len(first.Need.Slots) != 1 || len(first.Need.Jobs) != 1 {
		t.Fatalf("the first plan is %+v", first)
	}
	s.answer(first)
	second := s.decide()
	if len(second.Actions) != 1 || second.Actions[0].(CreatePod).Slot != "js-w-0-3" {
		t.Fatalf("the second plan is %+v", second)
	}
	s.Record(&s.memory, second.Actions[0], Result{Refused: "no quota"})
	if third := s.decide(); third.Rule == "replacement" {
		t.Errorf("the creation is tried again: %+v", third)
	}
	events, _ := Report(&s.Observation, &s.memory, now)
	if len(events) != 1 || !strings.Contains(events[0].Note, "rejected a replacement (no quota)") {
		t.Errorf("the events are %+v", events)
	}
}

// A second pod is waiting for a slot, and the holder's worker has finished or is still running. The holder is released only if it
// is lost.
func TestHolderIsReleasedOnlyIfItIsLost(t *testing.T) {
	for name, c := range map[string]struct {
		holder *workload.Pod // the holder's pod in the API server
		done   bool          // according to the Job
		want   int
	}{
		"it is gone":              {nil, false, 1},
		"it runs":                 {&workload.Pod{UID: "uid3", Phase: workload.Running}, false, 0},
		"it has failed":           {&workload.Pod{UID: "uid3", Phase: workload.Failed}, false, 1},
		"its worker has finished": {&workload.Pod{UID: "uid3", Phase: workload.Succeeded}, false, 0},
		"its worker has finished, and it is gone": {nil, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := settled(lose(3))
			second := pod(3)
			second.UID, second.Created = "second", now.Add(time.Second)
			s.Pods = append(s.Pods, second)
			s.Reads.Holders = map[string]string{"js-w-0-3": "uid3"}
			s.Reads.Slots = map[string]SlotRead{"js-w-0-3": {At: now, Pods: []*workload.Pod{second}}}
			if c.holder != nil {
				s.Reads.Slots["js-w-0-3"] = SlotRead{At: now, Pods: []*workload.Pod{c.holder, second}}
			}
			if c.done {
				s.Jobs[0].Completed = workload.Indexes{{3, 3}}
			}
			released := 0
			for _, a := range s.decide().Actions {
				if r, is := a.(Release); is && r.Pod == "uid3" {
					released++
				}
			}
			if released != c.want {
				t.Errorf("released %d times, want %d", released, c.want)
			}
		})
	}
}

// While a leader is paused after reading the slot, its successor may create the pod.
func TestSlotIsReadAgainAfterAPause(t *testing.T) {
	s := settled(lose(3))
	s.answer(s.decide())
	paused := Decide(&s.Observation, &s.memory, now.Add(createWithin))
	if len(paused.Actions) > 0 || len(paused.Need.Slots) != 1 {
		t.Errorf("after a pause, the plan is %+v", paused)
	}
}

func TestSlotsAreReadAndFilledInChunks(t *testing.T) {
	s := settled(func(s *scene) {
		s.Stored.Config.Units[0].Slots, s.Stored.Joined[0] = 2*atOnce, 2*atOnce
		s.Owner.Wanted.Stages = []coordination.Stage{{Prefix: "js-w", Jobs: 1, Pods: 2 * atOnce}}
		s.Stored.Config.Stages[0].Stage = s.Owner.Wanted.Stages[0]
		s.Jobs[0].Indexes, s.Jobs[0].Pods, s.Pods = 2*atOnce, 2*atOnce, nil
	})
	first := s.decide()
	s.answer(first)
	if second := s.decide(); len(first.Need.Slots) != atOnce || len(second.Actions) != atOnce {
		t.Errorf("%d slots are read, %d pods created", len(first.Need.Slots), len(second.Actions))
	}
	s.Spent = map[string]bool{"replacement": true}
	s.Reads.Slots = nil
	if p := s.decide(); p.Rule == "replacement" {
		t.Errorf("a rule that has used up its time continues: %+v", p)
	}
}

// A quota may reject the pods of a whole rack.
func TestRejectedPodsCauseOneEvent(t *testing.T) {
	s := settled(lose(3))
	for _, index := range []int{1, 3} {
		s.Record(&s.memory, CreatePod{Slot: fmt.Sprint("js-w-0-", index), Job: s.Jobs[0], Index: index}, Result{Refused: "no quota"})
	}
	events, _ := Report(&s.Observation, &s.memory, now)
	const want = "worker js-w-0-1 and 1 more have no pods, and the API server rejected replacements (no quota); the owner creates pods after its back-off"
	if len(events) != 1 || events[0].Note != want {
		t.Errorf("got %+v, want %q", events, want)
	}
}

func TestReplacedLeaderChangesNoPod(t *testing.T) {
	s := settled(lose(3))
	s.answer(s.decide())
	s.Stored.Config.Token.Transitions = 9
	s.Token.Transitions = 8
	p := s.decide()
	for _, a := range p.Actions {
		if _, writes := a.(WriteGroup); !writes {
			t.Errorf("it plans %T", a)
		}
	}
}

func TestLostPodIsReleasedOnceUnlessExpected(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*scene)
		want   int
	}{
		"a gap":                              {func(*scene) {}, 1},
		"only a trigger for a reconcile":     {func(s *scene) { s.Lost[0].Gap = false }, 0},
		"of a worker that has finished":      {func(s *scene) { s.Owner.Wanted.Finished = []string{"js-w-0-3"} }, 0},
		"of an earlier epoch":                {func(s *scene) { s.Lost[0].Pod.Generation, s.Owner.Epoch.Recreate = 1, 2 }, 0},
		"of a suspended JobSet":              {func(s *scene) { s.Owner.Wanted.Suspended = true }, 0},
		"fenced already":                     {func(s *scene) { s.Stored.Config.Fenced = []string{"uid3"} }, 0},
		"of a slot that is not in the group": {func(s *scene) { s.Lost[0].Pod.Slot = "js-w-0-99" }, 0},
		"released before, and the fence is lost": {func(s *scene) {
			s.Lost = nil
			s.memory.seen.release(2, rounds.Slot{Name: "js-w-0-3", Pod: "uid3"})
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := settled(func(s *scene) { s.Lost = []Loss{{Pod: pod(3), Gap: true}} })
			c.change(s)
			p := s.decide()
			got := 0
			for _, a := range p.Actions {
				if _, is := a.(Release); is {
					got++
				}
			}
			if got != c.want {
				t.Errorf("%d releases, want %d: %+v", got, c.want, p.Actions)
			}
		})
	}
}

func TestRestartThatTimesOutLeadsToARecreation(t *testing.T) {
	s := at("A 2 0/1", func(s *scene) { s.Owner.Charged = 4; overdue(s) })
	first := s.decide()
	w, is := first.Actions[0].(WriteGroup)
	if !is || first.Rule != "timeout" {
		t.Fatalf("first %+v", first)
	}
	s.Stored.State = w.State
	because("timeout")(s)
	second := s.decide()
	if a, is := second.Actions[0].(Annotate); !is || second.Rule != "recreation" || a.Epoch.Recreate != 3 || *a.Charged != 5 || a.Recovering.Level != recovering.LevelRecreate {
		t.Fatalf("second %+v", second)
	}
	s.Owner.Epoch = *second.Actions[0].(Annotate).Epoch
	s.Owner.Charged = 5
	if third := s.decide(); third.Rule != "group" {
		t.Fatalf("third %+v", third)
	}
	s.Stored, s.Owner.Wanted = nil, nil // only the Jobs are needed
	last := s.decide()
	if a, is := last.Actions[0].(DeleteJob); !is || last.Rule != "stale Jobs" || a.Job.Name != "js-w-0" {
		t.Fatalf("last %+v", last)
	}
}

func TestRecreationIsChargedOnce(t *testing.T) {
	cases := map[string]struct {
		charged, budget int32
		cause           string // cause of the epoch, if it was opened by a recreation
		want            string
		usedUp          bool
	}{
		"it opens the next epoch":               {3, 5, "", "epoch 3 base 4 because of forming/2/1, 4 charged", false},
		"charges of other programs are kept":    {4, 5, "", "epoch 3 base 5 because of forming/2/1, 5 charged", false},
		"without budget, it fails the owner":    {3, 3, "", "4 charged", true},
		"which is written once":                 {4, 3, "", "nothing", false},
		"and so is the epoch of the recreation": {4, 5, "forming/2/1", "nothing", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := steady(nil)
			s.Owner.Charged, s.Owner.Budget = tc.charged, restart.Budget(tc.budget)
			s.Owner.Epoch.Cause = tc.cause
			p := newPlanner(&s.Observation, &s.memory, now)
			usedUp := p.failOver(forming.KindForming, "late")
			got := "nothing"
			if len(p.plan.Actions) > 0 {
				a := p.plan.Actions[0].(Annotate)
				got = fmt.Sprintf("%d charged", *a.Charged)
				if a.Epoch != nil {
					got = fmt.Sprintf("epoch %d base %d because of %s, %s", a.Epoch.Epoch, a.Epoch.Base, a.Epoch.Cause, got)
				}
			}
			if got != tc.want || usedUp != tc.usedUp {
				t.Errorf("%s, used up %v, want %s, used up %v", got, usedUp, tc.want, tc.usedUp)
			}
		})
	}
}

// After a reset to an earlier state, the store may list an earlier pod as the holder of a slot. No agent notices this while the
// round stays the same.
func TestHoldersAreReadAgainAfterTheStoreWasSetBack(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*scene)
		want   int
	}{
		"it was not reset":                    {func(s *scene) { s.memory.seq = s.Stored.State.Level.Seq }, 0},
		"its sequence number is lower":        {func(s *scene) { s.memory.seq = s.Stored.State.Level.Seq + 1 }, 8},
		"its state is from before the leader": {func(s *scene) { s.Token.Transitions++ }, 8},
	} {
		t.Run(name, func(t *testing.T) {
			s := settled(c.change)
			p := newPlanner(&s.Observation, &s.memory, now)
			if p.freeSlots(); len(p.plan.Need.Holders) != c.want {
				t.Errorf("the holders of %d slots are read, want %d", len(p.plan.Need.Holders), c.want)
			}
		})
	}
}
