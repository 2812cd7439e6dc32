package member

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// unheard answers the call in flight: the slot's instance was born later than the one that was reported.
func unheard(newest int64, s string) moment {
	return at(0, Answered{Reply: coordination.Reply{Level: level(s), Round: coordination.NoRound, Newest: newest}})
}

// TestTheNewestInstance begins with an agent that lost its start-up file, on a node whose clock went back.
func TestTheNewestInstance(t *testing.T) {
	const running, restarting, recovering = "A/0 1.0 Running #2", "A/0 1.1 Restarting #3", "A/1 1.0 Recovering #3"
	cases := map[string]struct {
		barrier bool
		moments []moment
		want    string
	}{
		"outdoes the one that the store knows, at once": {
			moments: []moment{look("b@10"), unheard(50, running), reply(1, restarting), tick(time.Hour)},
			want:    `join b@10 join b@51`,
		},
		"does so at a barrier": {
			barrier: true,
			moments: []moment{look(), look("b@10"), unheard(50, running), reply(1, restarting)},
			want:    `join b@10 join b@51`,
		},
		"does so for a group that recovers": {
			moments: []moment{look("b@10"), unheard(50, recovering), reply(-1, recovering), tick(time.Hour)},
			want:    `join b@10 join b@51`,
		},
		"and so do those after it": {
			moments: []moment{look("b@10"), unheard(50, running), reply(1, restarting), look("b@10=1", "c@12"), reply(-1, restarting)},
			want:    `join b@10 join b@51 down b@51 join c@52`,
		},
		"is heard though it died meanwhile": {
			moments: []moment{look("b@10"), look("b@10=1"), unheard(50, running), reply(-1, restarting), look("b@10=1", "c@12")},
			want:    `join b@10 down b@51 join c@52`,
		},
		"is heard though its death was not": {
			moments: []moment{look("b@10"), fails(errAway), look("b@10=1"), tick(time.Second), unheard(50, running), reply(-1, restarting), tick(time.Hour)},
			want:    `join b@10 down b@10 down b@51`,
		},
		"is no older one whose record is still there": {
			moments: []moment{look("a@10=1", "b@11"), unheard(50, running), reply(0, running), tick(time.Hour)},
			want:    `down a@10 join b@11`,
		},
		"is none that was not seen alive": {
			moments: []moment{look("a@10=1"), unheard(50, running), tick(time.Hour)},
			want:    `down a@10`,
		},
		"does not go on for ever": {
			moments: []moment{look("b@10"), unheard(50, running), unheard(60, running), tick(time.Second), tick(5 * time.Second), unheard(70, running), tick(time.Second)},
			want:    `join b@10 join b@51 join b@61`,
		},
		"has a birth that the store can hold": {
			moments: []moment{look("b@10"), unheard(coordination.MaxCount, running)},
			want:    fmt.Sprint("join b@10 join b@", coordination.MaxCount),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newState(Fresh())
			if tc.barrier {
				s = atBarrier(Fresh())
			}
			compare(t, births(s, tc.moments...), tc.want)
		})
	}
}

// births plays the moments and returns the births of what was reported.
func births(s *State, moments ...moment) []string {
	var lines []string
	now := start
	for _, m := range moments {
		now = now.Add(m.after)
		for _, a := range s.Step(now, m.event) {
			switch a := a.(type) {
			case Join:
				lines = append(lines, fmt.Sprintf("join %s@%d", a.ID, a.Born))
			case Down:
				lines = append(lines, fmt.Sprintf("down %s@%d", a.ID, a.Born))
			}
		}
	}
	return lines
}
