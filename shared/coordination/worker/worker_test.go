package worker

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// inRound1 makes container "a" run in round 1.
var inRound1 = []moment{observed("a@10"), read("i1/1.1 A 0/1 #5"), reply("J", "i1/1.1 A 1/1 #6")}

// gone is a read that has found no group.
var gone = at(0, Updated{rounds.Observation{Read: true, Err: coordination.ErrNoGroup}})

func TestContainers(t *testing.T) {
	for name, c := range map[string]struct {
		moments []moment
		want    string
	}{
		"a worker that is one round behind is stopped, after the next round is recorded": {
			[]moment{cast("i1/1.2 A 0/1 #7")}, "tell 1.2, stop a 10s",
		},
		"a repeated order changes nothing": {
			[]moment{cast("i1/1.2 A 0/1 #7"), cast("i1/1.2 A 0/1 #7"), read("i1/1.2 A 0/1 #7"), tick(time.Second)}, "tell 1.2, stop a 10s",
		},
		"a death is reported with its cause, and the next instance joins the round that it has opened": {
			[]moment{observed("a@10=1", "b@20"), reply("-", "i1/1.2 A 0/1 #7"), reply("J", "i1/1.2 A 1/1 #8")},
			"down a in 1 ran=2 leaves=0: exit 1 0 - js-w-0-0-abc n1 1000000 1000000, tell 1.2, join js-w-0-0 as b.20 in 2 ran=1 h",
		},
		"a running worker whose join may have been accepted belongs only to that round: the answer is lost": {
			[]moment{cast("i1/1.2 A 0/1 #7"), observed("a@10=143", "b@20"), stopped("a", nil), fails(errUnavailable), cast("i1/1.3 A 0/1 #8")},
			"tell 1.2, stop a 10s, join js-w-0-0 as b.20 in 2 ran=1 h, tell 1.3, stop b 10s",
		},
		"or the group has reached a later round with the answer": {
			[]moment{cast("i1/1.2 A 0/1 #7"), observed("a@10=143", "b@20"), stopped("a", nil), reply("J", "i1/1.3 A 0/1 #8")},
			"tell 1.2, stop a 10s, join js-w-0-0 as b.20 in 2 ran=1 h, tell 1.3, stop b 10s",
		},
		"an ordered death is not reported": {
			[]moment{cast("i1/1.2 A 0/1 #7"), observed("a@10=143", "b@20"), stopped("a", nil)}, "tell 1.2, stop a 10s, join js-w-0-0 as b.20 in 2 ran=1 h",
		},
		"if a worker exits 0 on an order, its record and all earlier ones are removed": {
			[]moment{cast("i1/1.2 A 0/1 #7"), observed("z@5=1", "a@10=0"), observed()}, "tell 1.2, stop a 10s, remove z a",
		},
		"if a worker is more than one round behind, a recreation is requested once, and no worker is stopped": {
			[]moment{cast("i1/1.3 A 0/1 #8"), reply("x", "i1/1.3 R 0/1 #9"), cast("i1/1.3 A 0/1 #10"), tick(time.Hour)}, "tell 1.3, ask gap",
		},
		"a request that the store has lost is repeated after the next read": {
			[]moment{cast("i1/1.3 A 0/1 #8"), reply("x", "i1/1.3 R 0/1 #9"), reconnected("i1/1.3 A 0/1 #8")}, "tell 1.3, ask gap, ask gap",
		},
		"an older message is ignored":                                   {[]moment{cast("i1/1.2 A 0/1 #5")}, ""},
		"a message of another incarnation causes a read":                {[]moment{cast("i2/1.2 A 0/1 #1"), cast("i2/1.2 A 0/1 #2")}, "read"},
		"a round above the budget causes a read and is ignored":         {[]moment{cast("i1/1.10 A 0/1 #7"), tick(time.Hour)}, "read"},
		"a read round above the budget is not read again":               {[]moment{read("i1/1.10 A 0/1 #7"), tick(time.Hour)}, ""},
		"values that are not levels stop no worker":                     {[]moment{disconnected(coordination.ErrForeignValue), tick(time.Hour)}, ""},
		"an unreachable or empty store stops no worker":                 {[]moment{disconnected(errUnavailable), disconnected(coordination.ErrNoGroup), tick(time.Hour)}, ""},
		"a later generation stops the agent's activity":                 {[]moment{read("i2/2.0 A 0/0 #1"), observed("a@10=1"), tick(time.Hour)}, ""},
		"the agent waits while the generation is earlier":               {[]moment{read("i0/0.0 A 0/0 #1"), observed("a@10=1", "b@20"), tick(time.Hour)}, ""},
		"in other phases, no worker is stopped and nothing is reported": {[]moment{cast("i1/1.2 B 0/1 #7"), cast("i1/1.2 R 0/1 #8"), cast("i1/1.2 C 0/1 #9"), observed("a@10=1")}, ""},
		"the worker joins again in a restored store":                    {[]moment{read("i2/1.1 A 0/1 #1")}, "join js-w-0-0 as a.10 in 1 ran=1 r"},
		"the later round is reported to a store that was reset":         {[]moment{reconnected("i1/1.0 A 1/1 #3"), reply("-", "i1/1.1 A 0/1 #4")}, "lost 1 entered=1, join js-w-0-0 as a.10 in 1 ran=1 r"},
		"a read that is older than a message received in the meantime is repeated": {
			[]moment{disconnected(errUnavailable), cast("i1/1.2 A 0/1 #7"), read("i1/1.1 A 1/1 #6"), read("i1/1.2 A 0/1 #7")}, "tell 1.2, stop a 10s, read",
		},
		"so is one that has found another incarnation": {
			[]moment{cast("i2/1.1 A 1/1 #1"), cast("i1/1.2 A 0/1 #7"), read("i2/1.1 A 1/1 #1"), read("i1/1.2 A 0/1 #7")}, "read, tell 1.2, stop a 10s, read",
		},
		"or no group": {
			[]moment{cast("i2/1.1 A 1/1 #1"), cast("i1/1.2 A 0/1 #7"), gone, read("i1/1.2 A 0/1 #7")}, "read, tell 1.2, stop a 10s, read",
		},
		"and if the level is still older, the store was reset": {
			[]moment{disconnected(errUnavailable), cast("i1/1.2 A 0/1 #7"), read("i1/1.1 A 0/1 #5"), read("i1/1.1 A 0/1 #5")}, "tell 1.2, stop a 10s, read, tell 1.1, lost 2 entered=1",
		},
		"the join is confirmed once per connection while the round waits": {
			[]moment{reconnected("i1/1.1 A 0/1 #5"), reply("J", "i1/1.1 A 0/1 #5"), tick(time.Minute), reconnected("i1/1.1 A 0/1 #5")},
			"join js-w-0-0 as a.10 in 1 ran=1 r, join js-w-0-0 as a.10 in 1 ran=1 r",
		},
		"a death that a store ignored after a reset is reported again once the round is restored": {
			[]moment{observed("a@10=1", "b@20"), reply("-", "i1/1.0 A 1/1 #3"), read("i1/1.0 A 1/1 #3"), reply("-", "i1/1.1 A 0/1 #4"), tick(time.Second)},
			"down a in 1 ran=2 leaves=0: exit 1 0 - js-w-0-0-abc n1 1000000 1000000, read, tell 1.0, lost 1 entered=1, tell 1.1, down a in 1 ran=2 leaves=0: exit 1 0 - js-w-0-0-abc n1 1000000 1000000",
		},
		"a call without an answer is repeated, with increasing delays": {
			[]moment{observed("a@10=1"), fails(errUnavailable), tick(50 * time.Millisecond), tick(50 * time.Millisecond), fails(errUnavailable), tick(100 * time.Millisecond), tick(100 * time.Millisecond)},
			"tell 1.2, " + strings.Repeat("down a in 1 ran=2 leaves=0: exit 1 0 - js-w-0-0-abc n1 1000000 1000000, ", 2) + "down a in 1 ran=2 leaves=0: exit 1 0 - js-w-0-0-abc n1 1000000 1000000",
		},
		"a record that is missing once causes another observation": {[]moment{observed(), observed("a@10")}, "observe"},
		"a record that is missing twice is a death": {
			[]moment{observed(), observed()}, "observe, tell 1.2, down a in 1 ran=2 leaves=0: exit 137 0 - js-w-0-0-abc n1 1000000 1000000",
		},
		"a failed stop is repeated, and a worker that survives it is reported once": {
			[]moment{cast("i1/1.2 A 0/1 #7"), stopped("a", errUnavailable), tick(time.Second), tick(time.Second), stopped("a", nil), tick(time.Minute), reply("x", "i1/1.2 R 0/1 #8"), tick(time.Hour)},
			"tell 1.2, stop a 10s, stop a 10s, ask unkilled",
		},
		"a terminating pod leaves its slot": {
			[]moment{at(0, Leaving{}), observed("a@10=143")}, "down a in 1 ran=2 leaves=1: exit 143 0 - js-w-0-0-abc n1 1000000 1000000",
		},
		"success is reported and not held": {
			[]moment{observed("a@10=0"), reply("x", "i1/1.1 A 1/1 #6"), tick(time.Hour)}, "finish a held=0",
		},
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, New(config(false), Fresh()), inRound1, c.moments, c.want)
		})
	}
}

// waiting makes instance "a" join round 0 of a forming group. The driver has a barrier.
var waiting = []moment{observed(), observed("a@10"), read("i1/1.0 A 0/0 #1"), reply("J", "i1/1.0 A 0/0 #2")}

func TestBarrier(t *testing.T) {
	for name, c := range map[string]struct {
		moments []moment
		want    string
	}{
		"it starts when its unit does": {[]moment{cast("i1/1.0 A 1/1 #3")}, "start a 1.0"},
		"it starts after the pause":    {[]moment{cast("i1/1.0 A 1/1 #3 2"), tick(time.Second), tick(time.Second)}, "start a 1.0"},
		"it starts once":               {[]moment{cast("i1/1.0 A 1/1 #3"), cast("i1/1.0 A 1/1 #4"), read("i1/1.0 A 1/1 #4")}, "start a 1.0"},
		"a waiting instance joins the next round as it is": {
			[]moment{cast("i1/1.1 A 0/0 #3"), reply("J", "i1/1.1 A 0/0 #3")}, "join js-w-0-0 as a.10 in 1 ran=0 n",
		},
		"a join for an earlier round does not count": {
			[]moment{read("i1/1.0 A 0/0 #2"), reply("J", "i1/1.1 A 0/0 #3"), reply("J", "i1/1.1 A 1/1 #4")},
			"join js-w-0-0 as a.10 in 0 ran=0 n, join js-w-0-0 as a.10 in 1 ran=0 n, start a 1.1",
		},
		"an answer that arrives after the message about the start has no effect": {
			[]moment{cast("i1/1.1 A 0/0 #3"), cast("i1/1.1 A 1/1 #5"), reply("J", "i1/1.1 A 0/0 #4")}, "join js-w-0-0 as a.10 in 1 ran=0 n, read, start a 1.1",
		},
		"it does not start in an incarnation that it has not joined": {
			[]moment{read("i2/1.0 A 1/1 #1"), reply("J", "i2/1.0 A 1/1 #1")}, "join js-w-0-0 as a.10 in 0 ran=0 n, start a 1.0",
		},
		"it starts on a new connection once its join is confirmed there": {
			[]moment{disconnected(errUnavailable), read("i1/1.0 A 1/1 #3"), reply("J", "i1/1.0 A 1/1 #3")}, "join js-w-0-0 as a.10 in 0 ran=0 n, start a 1.0",
		},
		"and not if another pod holds the slot there": { // two stores may believe that they are the primary
			[]moment{disconnected(coordination.ErrSwitched), read("i1/1.0 A 1/1 #3"), reply("H", "i1/1.0 A 1/1 #3"), tick(time.Second)}, "join js-w-0-0 as a.10 in 0 ran=0 n",
		},
		"a join in a slot that another pod holds is repeated": {
			[]moment{cast("i1/1.1 A 0/0 #3"), reply("H", "i1/1.1 A 0/0 #3"), tick(time.Second), tick(5 * time.Second)},
			"join js-w-0-0 as a.10 in 1 ran=0 n, join js-w-0-0 as a.10 in 1 ran=0 n",
		},
		"a pod whose slot is not in a later incarnation does not repeat its calls immediately": {
			[]moment{cast("i1/1.1 A 0/0 #3"), reply("-", "i2/1.1 A 0/0 #4"), disconnected(coordination.ErrUnknownSlot), tick(time.Second)},
			"join js-w-0-0 as a.10 in 1 ran=0 n, read",
		},
		"it joins a later incarnation as soon as it has read the level": {
			[]moment{cast("i1/1.1 A 0/0 #3"), reply("-", "i2/1.1 A 0/0 #4"), read("i2/1.1 A 0/0 #4")},
			"join js-w-0-0 as a.10 in 1 ran=0 n, read, join js-w-0-0 as a.10 in 1 ran=0 n",
		},
		"a pod whose join was lost in a reset does not start while another pod holds the slot": {
			[]moment{cast("i1/1.1 A 0/1 #3"), reply("J", "i1/1.1 A 0/1 #4"), reconnected("i1/1.1 A 0/1 #3"), reply("H", "i1/1.1 A 0/1 #3"), cast("i1/1.1 A 1/1 #4")},
			"join js-w-0-0 as a.10 in 1 ran=0 n, join js-w-0-0 as a.10 in 1 ran=0 n",
		},
		"a pod that the leader has released makes no more calls": {
			[]moment{cast("i1/1.1 A 0/0 #3"), reply("X", "i1/1.1 A 0/0 #3"), cast("i1/1.1 A 1/1 #4"), tick(time.Hour)}, "join js-w-0-0 as a.10 in 1 ran=0 n",
		},
		"without its file it continues after the attempt that the store knows": {
			[]moment{cast("i1/1.1 A 0/0 #3"), reply("N40", "i1/1.1 A 0/0 #3")}, "join js-w-0-0 as a.10 in 1 ran=0 n, join js-w-0-0 as a.41 in 1 ran=0 n",
		},
		"after a death before the start, the next instance is prepared and joins": {
			[]moment{observed("a@10=1"), observed("a@10=1", "b@20"), reply("-", "i1/1.0 A 0/0 #3"), reply("J", "i1/1.0 A 0/0 #4")},
			"prepare, down a in 0 ran=0 leaves=0: exit 1 0 - js-w-0-0-abc n1 1000000 1000000, join js-w-0-0 as b.20 in 0 ran=0 n",
		},
		"a store that was reset and has opened a later round has not accepted a join of the previous round": {
			[]moment{observed("a@10=1", "b@20"), reply("-", "i1/1.0 A 0/0 #3"), cast("i1/1.0 A 1/1 #8"), reply("J", "i1/1.1 A 0/1 #6"), read("i1/1.1 A 0/1 #6"), tick(time.Second)},
			"down a in 0 ran=0 leaves=0: exit 1 0 - js-w-0-0-abc n1 1000000 1000000, join js-w-0-0 as b.20 in 0 ran=0 n, read, join js-w-0-0 as b.20 in 1 ran=0 n",
		},
		"a finished worker is held, and runs again in a later round": {
			[]moment{cast("i1/1.0 A 1/1 #3"), observed("a@10=0"), reply("x", "i1/1.0 A 1/1 #3"), cast("i1/1.1 A 0/1 #4"), observed("b@20")},
			"start a 1.0, finish a held=1, prepare, join js-w-0-0 as b.20 in 1 ran=0 h",
		},
		"a finished worker is released when all workers have finished": {
			[]moment{cast("i1/1.0 A 1/1 #3"), observed("a@10=0"), reply("x", "i1/1.0 A 1/1 #3"), cast("i1/1.0 D 1/1 #4"), tick(time.Hour)}, "start a 1.0, finish a held=1, release",
		},
		"a success that the store has lost is reported again": {
			[]moment{cast("i1/1.0 A 1/1 #3"), observed("a@10=0"), reply("x", "i1/1.0 A 1/1 #3"), read("i1/1.0 A 1/1 #3")}, "start a 1.0, finish a held=1, finish a held=1",
		},
		"a store that has lost the join of a finished worker receives the join first": {
			[]moment{
				cast("i1/1.0 A 1/1 #3"), observed("a@10=0"), reply("x", "i1/1.0 A 1/1 #4"), reconnected("i1/1.0 A 0/1 #2"), reply("J", "i1/1.0 A 1/1 #3"), reply("x", "i1/1.0 A 1/1 #4"),
			},
			"start a 1.0, finish a held=1, join js-w-0-0 as a.10 in 0 ran=1 r, finish a held=1",
		},
		"exit 0 because the pod is terminating is not a success": {
			[]moment{cast("i1/1.0 A 1/1 #3"), at(0, Leaving{}), observed("a@10=0")}, "start a 1.0, down a in 0 ran=2 leaves=1: exit 143 0 - js-w-0-0-abc n1 1000000 1000000",
		},
		"a worker that never ran is released with the others": {[]moment{cast("i1/1.0 D 0/0 #3")}, "release"},
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, New(config(true), Fresh()), waiting, c.moments, c.want)
		})
	}
}

// The memory is on disk before an action takes effect, so that the next agent can continue.
func TestMemoryIsSavedBeforeActions(t *testing.T) {
	s := New(config(true), Fresh())
	want := "save 1.0 .0 in -1, prepare, save 1.0 a.10 in -1, save 1.0 a.10 in -1, join js-w-0-0 as a.10 in 0 ran=0 n, save 1.0 a.10 in 0, save 1.0 a.10 in 0, start a 1.0, save 1.1 a.10 in 0, stop a 10s"
	if got := play(s, true, append(waiting, cast("i1/1.0 A 1/1 #3"), cast("i1/1.1 A 0/1 #4"))...); got != want {
		t.Errorf("does   %s\nwanted %s", got, want)
	}
}

// With a barrier, the agent and its worker die together. The next agent reports the death, and does not mistake the new instance
// for the old one.
func TestAgentRestart(t *testing.T) {
	file := Memory{Generation: 1, Highest: 3, Entered: 1, Attempt: 79, Ran: true, DiedIn: 2, Instance: Known{ID: "a", Attempt: 79, Round: 3, Incarnation: "i1", Ran: true, Saw: true}}
	expect(t, New(config(true), file), nil,
		[]moment{observed(), observed("b@20"), read("i1/1.3 A 1/1 #5"), reply("-", "i1/1.4 A 0/1 #6")},
		"prepare, down a in 3 ran=2 leaves=0: exit 137 0 - js-w-0-0-abc n1 1000000 1000000, join js-w-0-0 as b.80 in 4 ran=0 h")
	finished := file
	finished.Finished = "a"
	expect(t, New(config(true), finished), nil, []moment{observed(), read("i1/1.3 A 1/1 #5"), reply("x", "i1/1.3 D 1/1 #6")}, "finish a held=1, release")
	expect(t, New(config(false), file), nil, []moment{observed("a@10"), read("i1/1.4 A 0/1 #6")}, "tell 1.4, stop a 10s")
}

// No store can make an agent stop a worker more often than the guard allows.
func TestGuard(t *testing.T) {
	const allowed = 5
	limited := config(false)
	limited.MaxStops = allowed
	s := New(limited, Fresh())
	play(s, false, inRound1...)
	stops := 0
	for n := range int64(allowed + 2) {
		id := string(rune('b' + n))
		l := rounds.Level{Incarnation: "i1", Generation: 1, Phase: rounds.Active, Round: 2 + n, Entered: 1, Seq: 7 + 2*n, Left: rounds.NoUnits}
		up := l
		up.Started, up.Seq = 1, l.Seq+1
		before := string(rune('a' + n))
		stops += strings.Count(play(s, false, at(0, Updated{rounds.Observation{Level: l}}), observed(before+"@10=143", id+"@"+string(rune('1'+n))+"00"), at(0, Answered{Reply: "J", Now: up})), "stop")
	}
	if stops != allowed {
		t.Errorf("%d stops at once, want %d", stops, allowed)
	}
}

// The worker must show progress every 8 s; the agent checks once per second.
func TestHangs(t *testing.T) {
	running := append(waiting[:len(waiting):len(waiting)], cast("i1/1.0 A 1/1 #3"))
	shows := func(after time.Duration, progress uint64) moment {
		return at(after, Observed{[]Process{{ID: "a", Born: 10, Running: true, Progress: progress}}})
	}
	silent := func(seconds int, progress uint64) (list []moment) {
		for range seconds {
			list = append(list, tick(time.Second), shows(0, progress))
		}
		return list
	}
	killed := at(50*time.Millisecond, Observed{[]Process{{ID: "a", Born: 10, ExitCode: 137, Signal: 9, FinishedAt: 1}}})
	join := func(parts ...[]moment) (all []moment) {
		for _, p := range parts {
			all = append(all, p...)
		}
		return all
	}
	one := func(m ...moment) []moment { return m }
	for name, c := range map[string]struct {
		progress Progress
		moments  []moment
		want     string // actions, without observe
	}{
		"progress":                                         {Progress{Timeout: 8 * time.Second}, join(silent(7, 1), silent(7, 2), silent(7, 3)), ""},
		"a silent worker is killed and reported":           {Progress{Timeout: 8 * time.Second}, join(one(shows(0, 1)), silent(8, 1), one(killed)), "stop a 0s hung, prepare, down a in 0 ran=2 leaves=0: hang 137 9 8s js-w-0-0-abc n1 1000000 1008000"},
		"the time begins with the first sign":              {Progress{Timeout: 8 * time.Second}, silent(20, 0), ""},
		"unless the start has a limit":                     {Progress{Timeout: 8 * time.Second, Start: 16 * time.Second}, silent(16, 0), "stop a 0s hung"},
		"a frozen node was not silent":                     {Progress{Timeout: 8 * time.Second}, join(one(shows(0, 1), tick(time.Hour), shows(0, 1)), silent(6, 1), one(shows(0, 2))), ""},
		"no timeout":                                       {Progress{}, join(one(shows(0, 1)), silent(100, 1)), ""},
		"a failed kill is repeated":                        {Progress{Timeout: 8 * time.Second}, join(one(shows(0, 1)), silent(8, 1), one(stopped("a", errUnavailable), tick(2*time.Second))), "stop a 0s hung, stop a 0s hung"},
		"a silent peer gets no grace period":               {Progress{Timeout: 8 * time.Second}, join(one(shows(0, 1)), silent(4, 1), one(cast("i1/1.1 A 0/1 #4"))), "stop a 0s stuck"},
		"a peer that makes progress gets its grace period": {Progress{Timeout: 8 * time.Second}, join(one(shows(0, 1)), silent(3, 1), one(cast("i1/1.1 A 0/1 #4"))), "stop a 10s"},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(config(true, func(to *Config) { to.Progress = c.progress }), Fresh())
			play(s, false, running...)
			var words []string
			for word := range strings.SplitSeq(play(s, false, c.moments...), ", ") {
				if word != "observe" && word != "" {
					words = append(words, word)
				}
			}
			if got := strings.Join(words, ", "); got != c.want {
				t.Errorf("does   %s\nwanted %s", got, c.want)
			}
		})
	}
}
