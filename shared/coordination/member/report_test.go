package member

import (
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

var remembered = Memory{
	PodBorn: 5, Incarnation: "A", Epoch: 1, Round: 1, Running: true, Entered: true, Instances: 1, Instance: coordination.Instance{ID: "a", Born: 10},
}

func TestReports(t *testing.T) {
	ordered := remembered
	ordered.Ordered = "a"
	unreadable := &coordination.ForeignValueError{Key: "k", Field: "f", Value: "v"}
	cases := map[string]struct {
		memory  Memory
		moments []moment
		want    string
	}{
		"a new pod joins without a past": {
			memory: Fresh(), moments: []moment{look(), look("a@10")},
			want: `save unseen join a unseen`,
		},
		"an instance that died before anybody saw it alive is reported": {
			memory: Fresh(), moments: []moment{look("a@10=1")},
			want: `save unseen down a code=1 ordered=false`,
		},
		"deaths between two looks are reported in the order of births": {
			memory: remembered, moments: []moment{
				look("c@30", "b@20=2", "a@10=1"), reply(-1, "A/0 1.2 Restarting #6"), reply(-1, "A/0 1.2 Restarting #6"),
			},
			want: `down a code=1 ordered=false round 1.2 down b code=2 ordered=false join c 1.1 x1 running`,
		},
		"what is older than the remembered instance is history": {
			memory: remembered, moments: []moment{look("y@8=1", "z@9=1", "a@10")},
			want: `join a 1.1 x1 holds running`,
		},
		"what runs is the newest, though the node's clock went back since": {
			memory: remembered, moments: []moment{
				look("a@10=1"), reply(-1, "A/0 1.2 Restarting #6"), look("a@10=1", "b@4"), reply(2, "A/0 1.2 Restarting #6"),
				look("b@4=1", "c@3"), reply(-1, "A/0 1.2 Restarting #6"),
			},
			want: `down a code=1 ordered=false round 1.2 join b 1.1 x1 running save b 1.2 x1 holds entered
				down b code=1 ordered=false join c 1.2 x1 entered`,
		},
		"a reported death is not reported again": {
			memory: remembered, moments: []moment{look("a@10=1"), reply(-1, "A/0 1.2 Restarting #6"), look("a@10=1"), tick(time.Hour)},
			want: `down a code=1 ordered=false round 1.2`,
		},
		"an order of the agent's earlier run explains the exit": {
			memory: ordered, moments: []moment{look("a@10=0")},
			want: `remove a down a code=0 ordered=true`,
		},
		"an order of the agent's earlier run is given again if its instance still lives": {
			memory: ordered, moments: []moment{look("a@10"), reply(1, "A/0 1.2 Restarting #6")},
			want: `join a 1.1 x1 holds running round 1.2 stop a 10s`,
		},
		"a record that is gone is believed at the second look": {
			memory: remembered, moments: []moment{look("a@10"), reply(1, "A/0 1.1 Running #5"), look(), look()},
			want: `join a 1.1 x1 holds running round 1.1 look round 1.2 down a code=137 ordered=false`,
		},
		"a record that is missing once and back is no death": {
			memory: remembered, moments: []moment{look("a@10"), reply(1, "A/0 1.1 Running #5"), look(), look("a@10"), look()},
			want: `join a 1.1 x1 holds running round 1.1 look look`,
		},
		"a record that is gone beside a successor is a death at once": {
			memory: remembered, moments: []moment{look("b@20")},
			want: `down a code=137 ordered=false`,
		},
		"an answer that was lost is asked for again": {
			memory: Fresh(), moments: []moment{look("a@10"), fails(errAway), tick(50 * time.Millisecond), tick(50 * time.Millisecond)},
			want: `save unseen join a unseen join a unseen`,
		},
		"one call at a time: a death waits for the answer to the join": {
			memory: Fresh(), moments: []moment{look("a@10"), look("a@10=1"), reply(0, "A/0 1.0 Forming #1")},
			want: `save unseen join a unseen round 1.0 save a 1.0 x1 holds down a code=1 ordered=false`,
		},
		"without a group the agent waits for the level": {
			memory: Fresh(), moments: []moment{
				look("a@10"), fails(coordination.ErrNoGroup), tick(time.Second), tick(time.Second), lost(coordination.ErrNoGroup),
				cast("A/0 1.0 Forming #1"),
			},
			want: `save unseen join a unseen round 1.0 join a unseen`,
		},
		"an unreachable store that is read again gets what is pending at once": {
			memory: remembered, moments: []moment{
				look("a@10=1"), fails(errAway), tick(100 * time.Millisecond), fails(errAway), read("A/0 1.1 Running #5"),
			},
			want: `down a code=1 ordered=false down a code=1 ordered=false round 1.2 down a code=1 ordered=false`,
		},
		"fenced is quiet for ever": {
			memory: remembered, moments: []moment{
				look("a@10"), fails(coordination.ErrFenced), read("A/0 1.2 Restarting #6"), look("a@10=1"), look("b@20"), tick(time.Hour),
			},
			want: `join a 1.1 x1 holds running`,
		},
		"a foreign value is not a trigger and is retried slowly": {
			memory: remembered, moments: []moment{look("a@10"), fails(unreadable), tick(29 * time.Second), tick(time.Second)},
			want: `join a 1.1 x1 holds running join a 1.1 x1 holds running`,
		},
		"a worker of a stage that has left joins once": {
			memory:  Fresh(),
			moments: []moment{look("a@10"), released("A/0 1.0 Running #2 x,0"), tick(time.Hour), cast("A/0 1.1 Restarting #3 x,0"), tick(time.Hour)},
			want:    `save unseen join a unseen round 1.1`,
		},
		"a join in a recovering group waits for its round": {
			memory: Fresh(), moments: []moment{
				look("a@10"), reply(-1, "A/1 1.3 Recovering #6"), tick(time.Minute), cast("A/1 1.4 Restarting #7"), reply(4, "A/1 1.4 Restarting #7"),
			},
			want: `save unseen join a unseen round 1.4 join a unseen save a 1.4 x1 holds entered`,
		},
		"a join without a round is repeated, but not in a hot loop": {
			memory: Fresh(), moments: []moment{
				look("a@10"), reply(-1, "A/0 1.0 Forming #1"), tick(time.Second), tick(5 * time.Second), reply(-1, "A/0 1.0 Forming #1"), tick(time.Second),
			},
			want: `save unseen join a unseen round 1.0 join a unseen`,
		},
		"a second instance in a round counts": {
			memory: remembered, moments: []moment{
				look("a@10=1", "b@20"), reply(-1, "A/0 1.2 Restarting #6"), reply(2, "A/0 1.2 Restarting #6"),
				look("b@20=1", "c@30"), reply(-1, "A/0 1.2 Restarting #6"), reply(2, "A/0 1.2 Restarting #6"),
			},
			want: `down a code=1 ordered=false round 1.2 join b 1.1 x1 running save b 1.2 x1 holds entered
				down b code=1 ordered=false join c 1.2 x1 entered save c 1.2 x2 holds entered`,
		},
		"each read of an unfinished round repeats the join, which the store may have lost without a trace": {
			memory: Fresh(), moments: []moment{
				look("a@10"), reply(0, "A/0 1.0 Forming #1"), read("A/0 1.0 Forming #1"), reply(0, "A/0 1.0 Forming #1"),
				cast("A/0 1.0 Forming #1"), cast("A/0 1.0 Running #2"), read("A/0 1.0 Running #2"),
			},
			want: `save unseen join a unseen round 1.0 save a 1.0 x1 holds join a 1.0 x1 holds save a 1.0 x1 holds running`,
		},
		"a store that is read older than known gets a join with what is known": {
			memory: remembered, moments: []moment{look("a@10"), reply(1, "A/0 1.1 Running #5"), read("A/0 1.0 Running #2")},
			want: `join a 1.1 x1 holds running round 1.1 join a 1.1 x1 holds running`,
		},
		"a store that started over gets a join with what is known": {
			memory: remembered, moments: []moment{
				look("a@10"), reply(1, "A/0 1.1 Running #5"), read("B/1 1.0 Recovering #1"), reply(1, "B/1 1.0 Recovering #1"),
				cast("B/1 1.1 Running #2"), tick(time.Hour),
			},
			want: `join a 1.1 x1 holds running round 1.1 join a 1.1 x1 holds running save a 1.1 x1 holds running`,
		},
		"an answer given before the store started over does not count after": {
			memory: remembered, moments: []moment{look("a@10"), read("B/1 1.0 Recovering #1"), reply(1, "A/0 1.1 Running #5")},
			want: `join a 1.1 x1 holds running round 1.1 join a 1.1 x1 holds running`,
		},
		"a pod's new sandbox does not make it younger": {
			memory: remembered, moments: []moment{at(0, Observed{PodBorn: 99}), look("a@10")},
			want: `look join a 1.1 x1 holds running`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			compare(t, play(newState(tc.memory), false, tc.moments...), tc.want)
		})
	}
}

func TestLeavingIsSettledOnceAllIsReported(t *testing.T) {
	s := newState(remembered)
	play(s, false, look("a@10"), reply(1, "A/0 1.1 Running #5"))
	if !s.Settled() {
		t.Error("nothing is pending: settled")
	}
	play(s, false, at(0, Leaving{}), look("a@10=143"))
	if s.Settled() {
		t.Error("the report is in flight: not settled")
	}
	play(s, false, reply(-1, "A/0 1.2 Restarting #6"))
	if !s.Settled() {
		t.Error("the report arrived: settled")
	}
}

func TestADeathWithoutATimeIsReportedAllTheSame(t *testing.T) {
	s := newState(Fresh())
	play(s, false, inRound()...)
	worker := Worker{Instance: coordination.Instance{ID: "a", Born: 10}, ExitCode: 1, FinishedAt: -6795364578871}
	for _, a := range s.Step(start, Observed{PodBorn: 1, Workers: []Worker{worker}}) {
		if d, ok := a.(Down); ok {
			if d.FailedAt != 0 {
				t.Errorf("failed at %d, want 0", d.FailedAt)
			}
			return
		}
	}
	t.Error("the death was not reported")
}

// A pod of epoch 2, whose JobSet was resumed while nobody led: the group is still in epoch 1.
func TestAPodWaitsForItsEpoch(t *testing.T) {
	s := New(Config{Slot: "js-w-0-0", Pod: "pod", Epoch: 2}, Fresh())
	compare(t, play(s, false,
		look("a@10"), lost(coordination.ErrNoGroup), tick(time.Hour), read("A/0 1.3 Running #5"), cast("A/0 1.4 Restarting #6"), tick(time.Hour),
	), `save unseen`)
	if !s.Settled() {
		t.Error("it has something to report")
	}
	compare(t, play(s, false, cast("A/1 2.0 Forming #7"), reply(0, "A/1 2.0 Forming #8")), `round 2.0 join a unseen save a 2.0 x1 holds`)
}
