package leader

import (
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

var stages = []coordination.Stage{{Prefix: "js-w", Jobs: 1, Pods: 8}}

// level reads a phase, a round and how many units are started and have entered.
func level(text string) rounds.Level {
	l := rounds.Level{Incarnation: "i", Generation: 2, Seq: 7, Left: rounds.NoUnits}
	if _, err := fmt.Sscanf(text, "%s %d %d/%d", &l.Phase, &l.Round, &l.Started, &l.Entered); err != nil {
		panic(err)
	}
	return l
}

// steady is a group of epoch 2 in sync, with two restarts charged before it and one in it; 5 are allowed.
func steady(change func(*Input)) Input {
	in := Input{
		Wanted: &Wanted{Stages: stages, Barrier: true},
		Stored: &rounds.Stored{
			State: rounds.Fresh(level("A 1 1/1"), 1),
			Config: rounds.Config{
				Incarnation: "i", Generation: 2, Limit: 3, Units: []rounds.Unit{{Slots: 8, End: 1}}, Stages: []rounds.Bounds{{Stage: stages[0]}},
			},
			Joined: []int64{8}, Finished: []int64{0},
		},
		Epoch:  epoch.Record{Epoch: 2, Base: 2},
		Budget: 5, Charged: 3, Counted: true, Incarnation: "fresh",
	}
	if change != nil {
		change(&in)
	}
	return in
}

// at is a steady group whose level is another.
func at(text string, change func(*Input)) Input {
	return steady(func(in *Input) {
		in.Stored.State = rounds.Fresh(level(text), 1)
		if change != nil {
			change(in)
		}
	})
}

func text(s Step) string {
	words := []string{string(s.Kind)}
	switch s.Kind {
	case WriteGroup:
		words = append(words, string(s.Write.Reason)+":", s.Write.State.Level.String(), "limit", fmt.Sprint(s.Write.Config.Limit))
	case Charge:
		words = append(words, fmt.Sprint(s.Charged))
	case FailOver, RestoreEpoch:
		words = append(words, fmt.Sprintf("%+v", s.Epoch), fmt.Sprint(s.Charged))
	}
	if s.Mark {
		words = append(words, "marked")
	}
	return strings.Join(words, " ")
}

func because(cause string) func(*Input) {
	return func(in *Input) {
		in.Stored.Lines = []rounds.Line{{Generation: 2, Round: in.Stored.State.Round + 1, Ends: true, Slot: "-", Cause: cause}}
	}
}

func TestNext(t *testing.T) {
	for name, c := range map[string]struct {
		in   Input
		want string
	}{
		"in sync and charged: nothing":            {steady(nil), ""},
		"no group wanted and none there: nothing": {Input{}, ""},
		"no group wanted: it is dropped":          {steady(func(in *Input) { in.Wanted = nil }), "Drop"},
		"unreadable data of nobody are dropped":   {Input{Foreign: true}, "Drop"},
		"a new JobSet opens its group": {
			steady(func(in *Input) { in.Stored, in.Counted, in.Charged, in.Epoch = nil, false, 0, epoch.First() }),
			"Write the group is new, or the store has lost it: 2 fresh 1 0 A 0 0 0 - 0 limit 5",
		},
		"a store that has lost the group gets it back at the round that was charged": {
			steady(func(in *Input) { in.Stored, in.Wanted.Entered = nil, 1 }),
			"Write the group is new, or the store has lost it: 2 fresh 2 0 A 1 0 1 - 0 limit 3",
		},
		"unreadable data are thrown away": {
			steady(func(in *Input) { in.Stored, in.Foreign, in.Wanted.Entered = nil, true, 1 }),
			"Write the group is new, or the store has lost it: 2 fresh 2 0 A 1 0 1 - 0 limit 3",
		},
		"the count starts at 0": {
			at("A 0 1/1", func(in *Input) {
				in.Counted, in.Charged, in.Epoch, in.Stored.Config.Limit = false, 0, epoch.Record{Epoch: 2}, 5
			}), "Charge 0",
		},
		"a round in progress is charged and marked in one write": {at("A 2 0/1", nil), "Charge 4 marked"},
		"a restart without a charge is marked by itself":         {at("A 1 0/1", nil), "Mark marked"},
		"a mark that is out of date is written again":            {at("A 1 0/1", func(in *Input) { in.Mark = Outdated }), "Mark marked"},
		"a mark goes when the group is in sync":                  {steady(func(in *Input) { in.Mark = Marked }), "Mark"},
		"a mark that cannot be read goes too":                    {steady(func(in *Input) { in.Mark = Outdated }), "Mark"},
		"a mark goes with the group":                             {Input{Mark: Marked}, "Mark"},
		"a round is charged":                                     {at("A 2 1/1", nil), "Charge 4"},
		"a count that is ahead is never lowered":                 {steady(func(in *Input) { in.Charged = 5 }), ""},
		"the failure after the last restart takes the count over the budget": {
			at("B 3 1/1", func(in *Input) { in.Charged = 5 }), "Charge 6",
		},
		"suspending closes the group": {
			steady(func(in *Input) { in.Wanted.Suspended = true }), "Write the owner is suspended: 2 i 2 7 C 1 1 1 - 0 limit 3",
		},
		"a closed group is left alone": {at("C 1 1/1", func(in *Input) { in.Wanted.Suspended, in.Charged = true, 0 }), ""},
		"resuming opens it":            {at("C 1 1/1", nil), "Write the owner is resumed: 2 fresh 2 0 A 1 0 1 - 0 limit 3"},
		"a later epoch moves the group on": {
			steady(func(in *Input) { in.Epoch = epoch.Record{Epoch: 3, Base: 3} }), "Write the owner has emptied the group: 2 fresh 3 0 A 0 0 0 - 0 limit 2",
		},
		"a changed size is written": {
			steady(func(in *Input) { in.Wanted.Stages = []coordination.Stage{{Prefix: "js-w", Jobs: 1, Pods: 7}} }),
			"Write the stages have changed: 2 fresh 2 0 A 1 0 1 - 0 limit 3",
		},
		"a new leader writes its token": {
			steady(func(in *Input) { in.Token.Transitions = 2 }), "Write the budget, the longest pause or the leader has changed: 2 i 2 7 A 1 1 1 - 0 limit 3",
		},
		"workers that wait at no barrier have no pauses": {steady(func(in *Input) { in.Wanted.Barrier, in.Wanted.MaxPause = false, 1e9 }), ""},
		"a group that has finished is completed": {
			steady(func(in *Input) { in.Stored.Finished = []int64{8} }), "Write all that is needed has finished: 2 i 2 7 D 1 1 1 - 0 limit 3",
		},
		"a completed group waits for the end of its JobSet": {at("D 1 1/1", func(in *Input) { in.Overdue = true }), ""},
		"the last round of a completed group is charged":    {at("D 2 1/1", nil), "Charge 4"},
		"the mark goes when a restart ends in completion":   {at("D 1 1/1", func(in *Input) { in.Mark = Marked }), "Mark"},
		"a lost epoch annotation is written again":          {steady(func(in *Input) { in.Epoch = epoch.First() }), "RestoreEpoch {Epoch:2 Base:2 Early:0 Recreate:0 Cause:restored} 0"},
		"a round within its time goes on":                   {at("A 1 0/1", func(in *Input) { in.Mark = Marked }), ""},
		"a round out of time is given up":                   {at("A 1 0/1", func(in *Input) { in.Overdue = true }), "Write the restart has used up its time: 2 i 2 7 R 1 0 1 - 0 limit 3"},
		"a round out of time is charged first":              {at("A 2 0/1", func(in *Input) { in.Overdue = true }), "Charge 4"},
		"forming has no clock":                              {at("A 1 0/0", func(in *Input) { in.Overdue = true }), ""},
		"a group that cannot restart in place is recreated": {at("R 1 0/1", because("timeout")), "FailOver {Epoch:3 Base:4 Early:0 Recreate:3 Cause:timeout/2/1} 4"},
		"without budget that is charged and not done":       {at("R 3 0/1", func(in *Input) { in.Charged = 5 }), "Charge 6"},
		"that charge is made once":                          {at("R 3 0/1", func(in *Input) { in.Charged = 6 }), ""},
		"a fail-over that was written is not written again": {
			at("R 1 0/1", func(in *Input) { because("timeout")(in); in.Epoch.Cause = "timeout/2/1" }), "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			step, err := Next(c.in)
			if got := text(step); got != c.want || err != nil {
				t.Errorf("%v\n got %s\nwant %s", err, got, c.want)
			}
		})
	}
}

func TestMoreUnitsThanAGroupCanHave(t *testing.T) {
	_, err := Next(steady(func(in *Input) {
		in.Wanted.Stages = nil
		for step := range int64(rounds.MaxUnits + 1) {
			in.Wanted.Stages = append(in.Wanted.Stages, coordination.Stage{Prefix: fmt.Sprint("s", step), Jobs: 1, Pods: 1, Step: step})
		}
	}))
	if err == nil || !strings.Contains(err.Error(), "support 64") {
		t.Error(err)
	}
}
