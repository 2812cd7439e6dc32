package leader

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
)

var stages = []coordination.Stage{{Prefix: "js-w", Jobs: 1, Pods: 8}}

// steady is a group of epoch 2 in sync, with two restarts charged before it and one in it; 5 are allowed.
func steady(change func(*Input)) Input {
	in := Input{
		Wanted: &Wanted{Stages: stages},
		Group: &coordination.Summary{
			Level: coordination.Level{Epoch: 2, Round: 1, Phase: coordination.Running, Steps: "0"}, Limit: 3, Stages: stages, Size: 8,
		},
		Epoch:  epoch.Record{Epoch: 2, Base: 2},
		Budget: 5, Charged: 3, Counted: true,
	}
	if change != nil {
		change(&in)
	}
	return in
}

func open(change func(*coordination.Open)) Step {
	o := coordination.Open{Epoch: 2, Limit: 3, Stages: stages, Recover: true}
	change(&o)
	return Step{Kind: OpenGroup, Open: o}
}

// slots are the first n of the group.
func slots(n int64) []string {
	var list []string
	for pod := range n {
		list = append(list, stages[0].Slot(0, pod))
	}
	return list
}

func TestNext(t *testing.T) {
	phase := func(p coordination.Phase) func(*Input) { return func(in *Input) { in.Group.Phase = p } }
	cases := map[string]struct {
		in   Input
		want Step
	}{
		"in sync and charged: nothing":            {in: steady(nil)},
		"no group wanted and none there: nothing": {in: Input{}},
		"no group wanted: drop it": {
			in:   steady(func(in *Input) { in.Wanted = nil }),
			want: Step{Kind: Drop},
		},
		"a new JobSet opens its group": {
			in:   steady(func(in *Input) { in.Group, in.Counted, in.Charged, in.Epoch = nil, false, 0, epoch.First() }),
			want: open(func(o *coordination.Open) { o.Epoch, o.Limit, o.Recover = 1, 5, false }),
		},
		"an empty store is filled from what the agents know": {
			in:   steady(func(in *Input) { in.Group = nil }),
			want: open(func(*coordination.Open) {}),
		},
		"unreadable data are thrown away": {
			in:   steady(func(in *Input) { in.Group, in.Foreign = nil, true }),
			want: open(func(o *coordination.Open) { o.Reset = true }),
		},
		"the count starts at 0": {
			in: steady(func(in *Input) {
				in.Counted, in.Charged, in.Epoch = false, 0, epoch.Record{Epoch: 2}
				in.Group.Round, in.Group.Limit = 0, 5
			}),
			want: Step{Kind: Charge},
		},
		"a round in progress is charged and marked in one write": {
			in:   steady(func(in *Input) { in.Group.Round, in.Group.Phase = 2, coordination.Restarting }),
			want: Step{Kind: Charge, Charged: 4, Mark: true},
		},
		"a restart without a charge is marked by itself": {
			in:   steady(phase(coordination.Restarting)),
			want: Step{Kind: WriteMark, Mark: true},
		},
		"a mark that is out of date is written again": {
			in:   steady(func(in *Input) { in.Group.Phase, in.Mark = coordination.Restarting, Outdated }),
			want: Step{Kind: WriteMark, Mark: true},
		},
		"a mark goes when the group is in sync": {
			in:   steady(func(in *Input) { in.Mark = Marked }),
			want: Step{Kind: WriteMark},
		},
		"a mark that cannot be read goes too": {
			in:   steady(func(in *Input) { in.Mark = Outdated }),
			want: Step{Kind: WriteMark},
		},
		"a mark goes with the group": {
			in:   Input{Mark: Marked},
			want: Step{Kind: WriteMark},
		},
		"a round is charged": {
			in:   steady(func(in *Input) { in.Group.Round = 2 }),
			want: Step{Kind: Charge, Charged: 4},
		},
		"a count that is ahead is never lowered": {in: steady(func(in *Input) { in.Charged = 5 })},
		"the failure after the last restart takes the count over the budget": {
			in: steady(func(in *Input) {
				in.Group.Round, in.Charged, in.Group.Phase = 3, 5, coordination.Terminal
			}),
			want: Step{Kind: Charge, Charged: 6},
		},
		"suspending closes the group": {
			in:   steady(func(in *Input) { in.Wanted.Suspended = true }),
			want: open(func(o *coordination.Open) { o.Suspended = true }),
		},
		"a closed group is left alone": {
			in: steady(func(in *Input) { in.Wanted.Suspended = true; in.Group.Phase, in.Charged = coordination.Closed, 0 }),
		},
		"resuming opens it": {
			in:   steady(phase(coordination.Closed)),
			want: open(func(*coordination.Open) {}),
		},
		"a later epoch moves the group on": {
			in:   steady(func(in *Input) { in.Epoch = epoch.Record{Epoch: 3, Base: 3} }),
			want: open(func(o *coordination.Open) { o.Epoch, o.Limit = 3, 2 }),
		},
		"a changed order of start reopens": {
			in: steady(func(in *Input) {
				in.Group.Stages = []coordination.Stage{{Prefix: "js-w", Jobs: 1, Pods: 8, Step: 1}}
			}),
			want: open(func(*coordination.Open) {}),
		},
		"a changed release reopens": {
			in: steady(func(in *Input) {
				in.Group.Stages = []coordination.Stage{{Prefix: "js-w", Jobs: 1, Pods: 8, Release: coordination.ReleaseFree}}
			}),
			want: open(func(*coordination.Open) {}),
		},
		"and it is told once": {
			in: steady(func(in *Input) {
				in.Group.Steps, in.Wanted.Done, in.Opened = "-", []string{"js-w-0-0"}, true
			}),
		},
		"but it does when all of a stage has finished": {
			in: steady(func(in *Input) {
				in.Group.Counts = []coordination.Count{{Joined: 8}}
				in.Wanted.Done = slots(8)
			}),
			want: open(func(o *coordination.Open) { o.Done = slots(8) }),
		},
		"which the store may know": {
			in: steady(func(in *Input) {
				in.Group.Counts, in.Group.Done = []coordination.Count{{Joined: 8, Done: 8, Left: true}}, 8
				in.Wanted.Done = slots(8)
			}),
		},
		"a completed group waits for the end of its JobSet": {
			in: steady(func(in *Input) { in.Group.Phase, in.Group.Steps, in.Overdue = coordination.Completed, "x,-", true }),
		},
		"the last round of a completed group is charged": {
			in:   steady(func(in *Input) { in.Group.Phase, in.Group.Round = coordination.Completed, 2 }),
			want: Step{Kind: Charge, Charged: 4},
		},
		"the mark goes when a restart ends in completion": {
			in:   steady(func(in *Input) { in.Group.Phase, in.Mark = coordination.Completed, Marked }),
			want: Step{Kind: WriteMark},
		},
		"the group goes with a JobSet that has finished": {
			in:   steady(func(in *Input) { in.Group.Phase, in.Wanted = coordination.Completed, nil }),
			want: Step{Kind: Drop},
		},
		"a lost epoch annotation is written again": {
			in:   steady(func(in *Input) { in.Epoch = epoch.First() }),
			want: Step{Kind: RestoreEpoch, Epoch: epoch.Record{Epoch: 2, Base: 2, Cause: "restored"}},
		},
		"a changed size reopens": {
			in:   steady(func(in *Input) { in.Group.Stages = []coordination.Stage{{Prefix: "js-w", Jobs: 1, Pods: 7}} }),
			want: open(func(*coordination.Open) {}),
		},
		"a worker that finished in a step that forms is told to the store": {
			in:   steady(func(in *Input) { in.Group.Level.Steps, in.Wanted.Done = "-", []string{"js-w-0-3"} }),
			want: open(func(o *coordination.Open) { o.Done = []string{"js-w-0-3"} }),
		},
		"one in a step that has entered is not, its agent says so": {
			in: steady(func(in *Input) { in.Wanted.Done = []string{"js-w-0-3"} }),
		},
		"nor one in a step that has left": {
			in: steady(func(in *Input) { in.Group.Level.Steps, in.Wanted.Done = "x", []string{"js-w-0-3"} }),
		},
		"a group that has finished is left alone": {
			in: steady(func(in *Input) { in.Group.Phase, in.Wanted.Done = coordination.Completed, []string{"js-w-0-3"} }),
		},
		"a round within its time goes on": {
			in: steady(func(in *Input) { in.Group.Phase, in.Mark = coordination.Restarting, Marked }),
		},
		"a round out of time is given up": {
			in:   steady(func(in *Input) { in.Group.Phase, in.Overdue = coordination.Restarting, true }),
			want: Step{Kind: GiveUp},
		},
		"forming has no clock": {in: steady(func(in *Input) { in.Group.Phase, in.Overdue = coordination.Forming, true })},
		"a group that cannot restart in place is recreated, for one more charge": {
			in: steady(func(in *Input) {
				in.Group.Phase, in.Group.Record.Cause.Kind = coordination.Recreating, coordination.KindTimeout
			}),
			want: Step{Kind: FailOver, Charged: 4, Epoch: epoch.Record{Epoch: 3, Base: 4, Recreate: 3, Cause: "timeout/2/1"}},
		},
		"without budget the recreation is charged and not done": {
			in: steady(func(in *Input) {
				in.Group.Phase, in.Group.Round, in.Charged = coordination.Recreating, 3, 5
			}),
			want: Step{Kind: Charge, Charged: 6},
		},
		"that charge is made once": {
			in: steady(func(in *Input) {
				in.Group.Phase, in.Group.Round, in.Charged = coordination.Recreating, 3, 6
			}),
		},
		"a fail-over that was written is not written again": {
			in: steady(func(in *Input) {
				in.Group.Phase, in.Group.Record.Cause.Kind = coordination.Recreating, "timeout"
				in.Epoch.Cause = "timeout/2/1"
			}),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Next(tc.in)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
