package member

import (
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// TestTheDeathOfAStoppedInstance begins at a barrier, with an instance that was ordered to stop and has stopped.
func TestTheDeathOfAStoppedInstance(t *testing.T) {
	const restarting = "A/0 1.1 Restarting #3"
	stops := []moment{look(), look("a@10"), reply(0, "A/0 1.0 Forming #1"), cast("A/0 1.0 Running #2"), cast(restarting), look("a@10=143")}
	cases := map[string]struct {
		moments []moment
		want    string
	}{
		"is told with the join of the next one": {
			moments: []moment{look("b@20"), reply(1, restarting), tick(time.Hour)},
			want:    `join b 1.0 x1 running  save b 1.1 x1 holds entered`,
		},
		"is told with each try of it": {
			moments: []moment{look("b@20"), fails(errAway), tick(successorWait), reply(1, restarting)},
			want:    `join b 1.0 x1 running  join b 1.0 x1 running  save b 1.1 x1 holds entered`,
		},
		"does not wait for a next one that is late": {
			moments: []moment{tick(successorWait - 1), tick(1), reply(-1, restarting), look("b@20")},
			want:    `down a code=143 ordered=true  join b 1.0 x1 running`,
		},
		"is told first if the next one is dead as well": {
			moments: []moment{look("b@20=1"), reply(-1, restarting)},
			want:    `begin  down a code=143 ordered=true  down b code=1 ordered=false`,
		},
		"does not wait when the pod ends": {
			moments: []moment{at(0, Leaving{})},
			want:    `down a code=143 ordered=true`,
		},
		"does not wait when the store has lost data": {
			moments: []moment{read("B/1 1.0 Recovering #1")},
			want:    `down a code=143 ordered=true`,
		},
		"is told by itself if the join was not heard": {
			moments: []moment{look("b@20"), reply(-1, "A/0 1.1 Recreating #4")},
			want:    `join b 1.0 x1 running  down a code=143 ordered=true`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := atBarrier(Fresh())
			play(s, false, stops...)
			compare(t, play(s, false, tc.moments...), tc.want)
		})
	}
}

func TestAJoinTellsHowLongTheOneBeforeIsGone(t *testing.T) {
	s := atBarrier(Fresh())
	play(s, false, look(), look("a@10"), reply(0, "A/0 1.0 Forming #1"), cast("A/0 1.0 Running #2"), cast("A/0 1.1 Restarting #3"), look("a@10=143"))
	worker := Worker{Instance: coordination.Instance{ID: "b", Born: 20}, Running: true}
	var told []int64
	for _, e := range []Event{
		Observed{PodBorn: 5, Workers: []Worker{worker}},
		Answered{Reply: coordination.Reply{Level: level("A/0 1.1 Restarting #3"), Round: 1}},
		Told{coordination.Observation{Level: level("A/0 1.1 Restarting #3"), Read: true}},
	} {
		for _, a := range s.Step(start.Add(7*time.Millisecond), e) {
			if j, ok := a.(Join); ok {
				told = append(told, j.GoneFor)
			}
		}
	}
	if len(told) != 2 || told[0] != 7 || told[1] != 0 {
		t.Errorf("two joins told %v ms, want 7 and then nothing", told)
	}
}
