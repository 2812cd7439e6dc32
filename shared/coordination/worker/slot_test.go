package worker

import (
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// readAt returns a read of a level and of what the leader has decided about the pod: the slot assigned to it, and whether it has no
// slot of its own.
func readAt(text, given string, spare bool) moment {
	stage := coordination.Stage{Prefix: "js-w", Jobs: 1, Pods: 2}
	p := &rounds.Place{Bounds: rounds.Bounds{Stage: stage}, Limit: 9, Given: given, Spare: spare}
	return at(0, Updated{rounds.Observation{Level: level(text), Place: p, Read: true}})
}

// spare configures a pod of the spare Job.
func spare(c *Config) { c.Slot.Name = "js-w-spares-0" }

// idle makes instance "a" of a spare wait while the group is running in round 1.
var idle = []moment{observed(), observed("a@10"), readAt("i1/1.1 A 1/1 #5", "", true)}

// given continues idle: the spare is assigned slot js-w-0-1 in round 2, joins and runs.
var given = append(idle[:len(idle):len(idle)], cast("i1/1.2 A 0/1 #6"), readAt("i1/1.2 A 0/1 #6", "js-w-0-1", true), reply("J", "i1/1.2 A 1/1 #7"))

func TestSpares(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*Config)
		before  []moment
		moments []moment
		want    string
	}{
		"a spare prepares an instance and joins nothing": {
			spare, nil, append(idle[:len(idle):len(idle)], tick(time.Hour)), "prepare",
		},
		"a spare reads its place when the level changes": {spare, idle, []moment{cast("i1/1.2 A 0/1 #6")}, "read"},
		"and again if the level changes in the meantime": {
			spare, idle, []moment{cast("i1/1.2 A 0/1 #6"), cast("i1/1.2 A 0/1 #7"), readAt("i1/1.2 A 0/1 #6", "", true)}, "read, read",
		},
		"it joins in its assigned slot, and starts as the slot's worker": {
			spare, idle, []moment{cast("i1/1.2 A 0/1 #6"), readAt("i1/1.2 A 0/1 #6", "js-w-0-1", true), reply("J", "i1/1.2 A 1/1 #7")},
			"read, join js-w-0-1 as a.10 in 2 ran=0 n, start a 1.2",
		},
		"it stays in its slot in the following rounds": {
			spare, given, []moment{cast("i1/1.3 A 0/1 #8"), observed("a@10=143"), stopped("a", nil), observed("b@20")},
			"stop a 10s, prepare, join js-w-0-1 as b.20 in 3 ran=0 h",
		},
		"although the store has lost the assignment": {
			spare, given, []moment{readAt("i2/1.2 A 0/1 #1", "", true)}, "join js-w-0-1 as a.10 in 2 ran=1 r",
		},
		"its death is reported for the slot": {
			spare, given, []moment{observed("a@10=1")}, "prepare, down a in 2 ran=2 leaves=0: exit 1 0 - js-w-0-0-abc n1 1000000 1000000",
		},
		"a pod that has run does not take a second slot": {
			spare, given, []moment{readAt("i1/1.3 A 0/1 #8", "js-w-0-0", true), observed("a@10=1"), tick(time.Hour)}, "",
		},
		"a pod whose slot was removed leaves the group": {
			spare, given, []moment{without("i2/1.2 A 0/1 #1"), observed("a@10=1"), tick(time.Hour)}, "prepare",
		},
		"until a store that was reset has the slot again": {
			spare, given, []moment{without("i2/1.2 A 0/1 #1"), readAt("i3/1.2 A 0/1 #1", "js-w-0-1", true)}, "join js-w-0-1 as a.10 in 2 ran=1 r",
		},
		"a pod in which nothing has run takes another slot": {
			spare, idle, []moment{
				cast("i1/1.2 A 0/1 #6"), readAt("i1/1.2 A 0/1 #6", "js-w-0-1", true), reply("J", "i1/1.2 A 0/1 #7"), readAt("i1/1.2 A 0/1 #7", "js-w-0-0", true),
			}, "read, join js-w-0-1 as a.10 in 2 ran=0 n, join js-w-0-0 as a.10 in 2 ran=0 n",
		},
		"a rejected join discards an earlier one": {
			spare, idle, []moment{
				cast("i1/1.2 A 0/1 #6"), readAt("i1/1.2 A 0/1 #6", "js-w-0-1", true), reply("J", "i1/1.2 A 0/1 #7"),
				disconnected(errUnavailable), readAt("i1/1.2 A 0/1 #5", "", true), reply("H", "i1/1.2 A 0/1 #5"), readAt("i1/1.2 A 1/1 #6", "", true), tick(time.Hour),
			}, "read, join js-w-0-1 as a.10 in 2 ran=0 n, join js-w-0-1 as a.10 in 2 ran=0 n, read",
		},
		"it does not start until its join is confirmed on its connection": {
			spare, idle, []moment{
				cast("i1/1.2 A 0/1 #6"), readAt("i1/1.2 A 0/1 #6", "js-w-0-1", true), reply("J", "i1/1.2 A 0/1 #7"), disconnected(errUnavailable),
				readAt("i1/1.2 A 1/1 #9", "js-w-0-1", true), reply("J", "i1/1.2 A 1/1 #9"),
			}, "read, join js-w-0-1 as a.10 in 2 ran=0 n, join js-w-0-1 as a.10 in 2 ran=0 n, start a 1.2",
		},
		"a pod whose own slot was assigned to another pod waits": {
			nil, nil, []moment{observed(), observed("a@10"), readAt("i1/1.2 A 0/1 #6", "", true), tick(time.Hour)}, "prepare",
		},
		"a pod that was created to wait does not take its own slot": {
			func(c *Config) { c.Waits = true }, nil, []moment{observed(), observed("a@10"), readAt("i1/1.2 A 0/1 #6", "", false), tick(time.Hour)}, "prepare",
		},
		"until it is assigned that slot": {
			func(c *Config) { c.Waits = true }, nil, []moment{observed(), observed("a@10"), readAt("i1/1.2 A 0/1 #6", "js-w-0-0", false)},
			"prepare, join js-w-0-0 as a.10 in 2 ran=0 n",
		},
		"a pod that has run in its own slot, which was assigned to another pod, stops its worker and waits": {
			nil, nil, []moment{
				observed(), observed("a@10"), readAt("i1/1.2 A 0/1 #6", "", false), reply("J", "i1/1.2 A 1/1 #7"), readAt("i1/1.2 A 1/1 #8", "", true),
				observed("a@10=143"), stopped("a", nil), observed("b@20"), readAt("i1/1.3 A 0/1 #9", "js-w-0-1", true),
			}, "prepare, join js-w-0-0 as a.10 in 2 ran=0 n, start a 1.2, stop a 10s, prepare, join js-w-0-1 as b.20 in 3 ran=0 n",
		},
		"a spare that never ran is released with the others": {spare, idle, []moment{cast("i1/1.1 D 1/1 #6")}, "read, release"},
		"and with its stage": {spare, idle, []moment{at(0, Updated{rounds.Observation{Level: left("i1/1.1 A 1/1 #6")}})}, "read, release"},
	} {
		t.Run(name, func(t *testing.T) {
			change := c.change
			if change == nil {
				change = func(*Config) {}
			}
			expect(t, New(config(true, change), Fresh()), c.before, c.moments, c.want)
		})
	}
}

// without returns a read in which the stage has no slot js-w-0-1.
func without(text string) moment {
	stage := coordination.Stage{Prefix: "js-w", Jobs: 1, Pods: 1}
	p := &rounds.Place{Bounds: rounds.Bounds{Stage: stage}, Limit: 9, Given: "js-w-0-1", Spare: true}
	return at(0, Updated{rounds.Observation{Level: level(text), Place: p, Read: true}})
}

// left parses a level, and marks the first unit as having left.
func left(text string) rounds.Level {
	l := level(text)
	l.Left = rounds.UnitsOf(0)
	return l
}

// A container that is restarted continues in the slot assigned to its pod.
func TestTheSlotIsInTheFile(t *testing.T) {
	file := Memory{Generation: 1, Highest: 3, Entered: 1, EnteredIn: "i1", Attempt: 7, Ran: true, DiedIn: 2, Slot: "js-w-0-1",
		Instance: Known{ID: "a", Attempt: 7, Round: 3, Incarnation: "i1", Ran: true, Saw: true}}
	expect(t, New(config(true, spare), file), nil, []moment{observed(), observed("b@20"), readAt("i1/1.3 A 1/1 #5", "", true), reply("-", "i1/1.4 A 0/1 #6")},
		"prepare, down a in 3 ran=2 leaves=0: exit 137 0 - js-w-0-0-abc n1 1000000 1000000, join js-w-0-1 as b.20 in 4 ran=0 h")
}
