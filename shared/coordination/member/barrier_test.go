package member

import (
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

func atBarrier(m Memory) *State {
	return New(Config{Slot: "js-w-0-0", Pod: "pod", Grace: 10 * time.Second, Barrier: true, Random: func() float64 { return 1 }}, m)
}

// TestBarrier begins with a new supervisor.
func TestBarrier(t *testing.T) {
	formed := []moment{look(), look("a@10"), reply(0, "A/0 1.0 Forming #1"), cast("A/0 1.0 Running #2")}
	const lifted = `save unseen begin  join a unseen  save a 1.0 x1 holds  save a 1.0 x1 holds running  lift a 1.0`
	cases := map[string]struct {
		moments []moment
		want    string
	}{
		"an instance waits until its round runs, and is let run once": {
			moments: append(formed, cast("A/0 1.0 Running #2"), read("A/0 1.0 Running #2")),
			want:    lifted,
		},
		"after rounds that ended early it waits for the delay before it runs": {
			moments: []moment{
				look(), look("a@10"), reply(0, "A/0 1.0 Forming #1"), cast("A/0 1.0 Running #2 0 4000"), tick(3999 * time.Millisecond),
				read("A/0 1.0 Running #2 0 4000"), tick(time.Millisecond), tick(time.Second),
			},
			want: `save unseen begin  join a unseen  save a 1.0 x1 holds  save a 1.0 x1 holds running  lift a 1.0`,
		},
		"a later round has a delay of its own": {
			moments: []moment{
				look(), look("a@10"), reply(0, "A/0 1.0 Forming #1"), cast("A/0 1.0 Running #2 0 4000"), cast("A/0 1.1 Restarting #3 0 8000"),
				look("a@10=143"), look("b@20"), reply(1, "A/0 1.1 Restarting #3 0 8000"), cast("A/0 1.1 Running #4 0 8000"), tick(7999 * time.Millisecond),
			},
			want: `save unseen begin  join a unseen  save a 1.0 x1 holds  save a 1.0 x1 holds running  save a 1.0 x1 holds running
				stop a 10s  begin  join b 1.0 x1 running  save b 1.1 x1 holds entered  save b 1.1 x1 holds running`,
		},
		"without an answer to its join it waits, whatever is broadcast": {
			moments: []moment{look(), look("a@10"), cast("A/0 1.0 Running #2"), read("A/0 1.0 Running #2")},
			want:    `save unseen begin  join a unseen`,
		},
		"it waits while its step forms, and runs in the round that the step enters at": {
			moments: []moment{
				look(), look("a@10"), inStep(1, 0, "A/0 1.0 Running #2 0,-"), cast("A/0 1.2 Restarting #7 0,-"),
				cast("A/0 1.2 Running #8 0,-"), cast("A/0 1.2 Running #9 0,2"),
			},
			want: `save unseen begin  join a unseen  save a 1.0 x1 holds  save a 1.2 x1 holds running  lift a 1.2`,
		},
		"a step that enters a restarting group is not behind": {
			moments: []moment{
				look(), look("a@10"), inStep(1, 0, "A/0 1.0 Running #2 0,-"), cast("A/0 1.1 Restarting #7 0,1"), cast("A/0 1.1 Running #8 0,1"),
			},
			want: `save unseen begin  join a unseen  save a 1.0 x1 holds  save a 1.1 x1 holds entered  save a 1.1 x1 holds running  lift a 1.1`,
		},
		"an order stops it, and its successor waits for the next round": {
			moments: append(formed, cast("A/0 1.1 Restarting #3"), look("a@10=143"), look("b@20"), reply(1, "A/0 1.1 Restarting #3"),
				cast("A/0 1.1 Running #4")),
			want: lifted + ` save a 1.0 x1 holds running  stop a 10s  begin
				join b 1.0 x1 running  save b 1.1 x1 holds entered  save b 1.1 x1 holds running  lift b 1.1`,
		},
		"one that waits is stopped like any other if its round is over": {
			moments: []moment{look(), look("a@10"), reply(0, "A/0 1.0 Forming #1"), cast("A/0 1.1 Restarting #3"), look("a@10=143")},
			want:    `save unseen begin  join a unseen  save a 1.0 x1 holds  save a 1.0 x1 holds entered  stop a 10s  begin`,
		},
		"with the store away a dead worker's successor waits": {
			moments: append(formed, lost(errAway), look("a@10=1"), look("b@20"), fails(errAway), cast("A/0 1.0 Running #2")),
			want:    lifted + ` begin  down a code=1 ordered=false  down a code=1 ordered=false`,
		},
		"with no restart left it waits for good": {
			moments: append(formed, look("a@10=1"), look("b@20"), reply(-1, "A/0 1.0 Terminal #3"), reply(0, "A/0 1.0 Terminal #3"),
				read("A/0 1.0 Terminal #3"), tick(time.Hour)),
			want: lifted + ` begin  down a code=1 ordered=false  join b 1.0 x1 running  save b 1.0 x2 holds running`,
		},
		"a finished worker is held, and let go when all is completed": {
			moments: append(formed, look("a@10=0"), reply(-1, "A/0 1.0 Running #2"), cast("A/0 1.0 Completed #3 x")),
			want:    lifted + ` save a 1.0 x1 holds running  down a code=0 ordered=false  release`,
		},
		"it is let go when its stage has left": {
			moments: append(formed, look("a@10=0"), reply(-1, "A/0 1.0 Running #2"), cast("A/0 1.0 Running #3 0!1"), cast("A/0 1.0 Running #3 0!0!1")),
			want:    lifted + ` save a 1.0 x1 holds running  down a code=0 ordered=false  release`,
		},
		"or when the store says so at once": {
			moments: append(formed, look("a@10=0"), released("A/0 1.0 Running #2"), tick(time.Hour)),
			want:    lifted + ` save a 1.0 x1 holds running  down a code=0 ordered=false  release`,
		},
		"it is held while its report is on the way": {
			moments: append(formed, look("a@10=0"), cast("A/0 1.0 Completed #3 x"), fails(errAway), tick(time.Minute), released("A/0 1.0 Completed #3 x")),
			want:    lifted + ` save a 1.0 x1 holds running  down a code=0 ordered=false  down a code=0 ordered=false  release`,
		},
		"it runs again in a later round": {
			moments: append(formed, look("a@10=0"), reply(-1, "A/0 1.0 Running #2"), cast("A/0 1.1 Restarting #3"), look("b@20"),
				reply(1, "A/0 1.1 Restarting #3"), cast("A/0 1.1 Running #4")),
			want: lifted + ` save a 1.0 x1 holds running  down a code=0 ordered=false  save a 1.0 x1 holds running  begin
				join b 1.0 x1 running  save b 1.1 x1 holds entered  save b 1.1 x1 holds running  lift b 1.1`,
		},
		"one that finished too late runs again at once": {
			moments: append(formed, look("a@10=0"), reply(-1, "A/0 1.1 Restarting #3")),
			want:    lifted + ` save a 1.0 x1 holds running  down a code=0 ordered=false  save a 1.0 x1 holds running  begin`,
		},
		"it says again that it has finished to a store that lost its data, and at each read": {
			moments: append(formed, look("a@10=0"), reply(-1, "A/0 1.0 Running #2"), read("B/1 1.0 Recovering #1 -"), reply(-1, "B/1 1.0 Recovering #1 -"),
				cast("B/1 1.0 Running #2"), read("B/1 1.0 Running #2"), reply(-1, "B/1 1.0 Running #2"), tick(time.Hour)),
			want: lifted + ` save a 1.0 x1 holds running  down a code=0 ordered=false  down a code=0 ordered=false  down a code=0 ordered=false`,
		},
		"exit 0 on an order is a death": {
			moments: append(formed, cast("A/0 1.1 Restarting #3"), look("a@10=0"), tick(successorWait)),
			want:    lifted + ` save a 1.0 x1 holds running  stop a 10s  begin  down a code=0 ordered=true`,
		},
		"so is exit 0 at the end of the pod, and nothing begins": {
			moments: append(formed, at(0, Leaving{}), look("a@10=0"), reply(-1, "A/0 1.1 Restarting #3"), tick(time.Hour)),
			want:    lifted + ` down a code=143 ordered=false`,
		},
		"a new pod of a stage that has left goes without running": {
			moments: []moment{look(), look("a@10"), released("A/0 1.0 Running #2 x,0"), tick(time.Hour)},
			want:    `save unseen begin  join a unseen  release`,
		},
		"a worker that runs is not let go when the rest is completed": {
			moments: append(formed, cast("A/0 1.0 Completed #3"), tick(time.Hour)),
			want:    lifted,
		},
		"a leaving one is not let run": {
			moments: []moment{look(), look("a@10"), reply(0, "A/0 1.0 Forming #1"), at(0, Leaving{}), cast("A/0 1.0 Running #2")},
			want:    `save unseen begin  join a unseen  save a 1.0 x1 holds  save a 1.0 x1 holds running`,
		},
		"a fenced one does nothing any more": {
			moments: []moment{look(), look("a@10"), fails(coordination.ErrFenced), look("a@10=1"), tick(time.Hour)},
			want:    `save unseen begin  join a unseen`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			compare(t, play(atBarrier(Fresh()), false, tc.moments...), tc.want)
		})
	}
}

func TestASupervisorThatWasRestarted(t *testing.T) {
	memory := Memory{
		PodBorn: 5, Incarnation: "A", Epoch: 1, Round: 1, Running: true, Entered: true, Instances: 1,
		Instance: coordination.Instance{ID: "a", Born: 10},
	}
	t.Run("reports the death of its worker at the first look", func(t *testing.T) {
		compare(t, play(atBarrier(memory), false, look()), `begin  down a code=137 ordered=false`)
	})
	t.Run("holds what has finished", func(t *testing.T) {
		memory.Finished = "a"
		compare(t, play(atBarrier(memory), false, look(), reply(-1, "A/0 1.1 Running #5"), cast("A/0 1.2 Restarting #6")),
			`down a code=0 ordered=false  save a 1.1 x1 holds running  begin`)
	})
}

func TestTooManyOrdersAtABarrierAskForRecreation(t *testing.T) {
	s := atBarrier(Fresh())
	s.config.MaxStops = 1
	play(s, false, look(), look("a@10"), reply(0, "A/0 1.0 Running #1"), cast("A/0 1.1 Restarting #2"),
		look("a@10=143"), look("b@20"), reply(1, "A/0 1.1 Running #3"))
	got := play(s, false, cast("A/0 1.2 Restarting #4"), reply(1, "A/0 1.2 Recreating #5"), tick(time.Second))
	compare(t, got, `ask stops`)
}
