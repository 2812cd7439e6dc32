package worker

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

var (
	began          = time.UnixMilli(1_000_000)
	errUnavailable = errors.New("connection refused")
)

// moment is a list of events that happen at the same time, and the time since the previous moment. A read, for example, consists
// of two events.
type moment struct {
	after  time.Duration
	events []Event
}

func at(after time.Duration, e ...Event) moment { return moment{after, e} }

func tick(after time.Duration) moment   { return at(after, Tick{}) }
func fails(err error) moment            { return at(0, Answered{Err: err}) }
func reply(text, now string) moment     { return at(0, Answered{Reply: text, Now: level(now)}) }
func cast(text string) moment           { return at(0, Updated{rounds.Observation{Level: level(text)}}) }
func disconnected(err error) moment     { return at(0, Updated{rounds.Observation{Err: err}}) }
func stopped(id string, e error) moment { return at(0, StopEnded{ID: id, Err: e}) }

func read(text string) moment {
	p := &rounds.Place{Bounds: rounds.Bounds{Stage: coordination.Stage{Prefix: "js-w", Jobs: 1, Pods: 1}}, Limit: 9}
	return at(0, Updated{rounds.Observation{Level: level(text), Place: p, Read: true}})
}

// reconnected returns the read after a lost connection. Only such a read may return an older level than a preceding message or answer.
func reconnected(text string) moment {
	m := read(text)
	m.events = append([]Event{Updated{rounds.Observation{Err: errUnavailable}}}, m.events...)
	return m
}

// observed returns an Observed of processes given as "a@10" (running, born at 10) or "a@10=1" (exited with code 1).
func observed(processes ...string) moment {
	var o Observed
	for _, text := range processes {
		p := Process{Running: !strings.Contains(text, "=")}
		if p.Running {
			must(fmt.Sscanf(strings.Replace(text, "@", " ", 1), "%s %d", &p.ID, &p.Born))
		} else {
			must(fmt.Sscanf(strings.NewReplacer("@", " ", "=", " ").Replace(text), "%s %d %d", &p.ID, &p.Born, &p.ExitCode))
			p.FinishedAt = began.UnixMilli()
		}
		o.Processes = append(o.Processes, p)
	}
	return at(0, o)
}

// level parses "incarnation/generation.round phase started/entered #seq [pause in seconds]".
func level(text string) rounds.Level {
	l := rounds.Level{Left: rounds.NoUnits}
	var pause int
	n, err := fmt.Sscanf(strings.NewReplacer("/", " ", ".", " ").Replace(text), "%s %d %d %s %d %d #%d %d",
		&l.Incarnation, &l.Generation, &l.Round, &l.Phase, &l.Started, &l.Entered, &l.Seq, &pause)
	if n < 7 {
		panic(fmt.Sprintf("level %q: %v", text, err))
	}
	l.Pause = time.Duration(pause) * time.Second
	return l
}

func must(_ int, err error) {
	if err != nil {
		panic(err)
	}
}

// play returns the actions, without logs, and with saves only if requested.
func play(s *State, saves bool, moments ...moment) string {
	var words []string
	now := began
	for _, m := range moments {
		now = now.Add(m.after)
		for _, e := range m.events {
			for _, a := range s.Step(now, e) {
				if word := text(a, saves); word != "" {
					words = append(words, word)
				}
			}
		}
	}
	return strings.Join(words, ", ")
}

func text(action Action, saves bool) string {
	switch a := action.(type) {
	case Call:
		name := a.Function[strings.Index(a.Function, "_")+1:]
		switch args := a.Arguments; a.Function {
		case rounds.FunctionJoin:
			return fmt.Sprintf("join %v as %v.%v in %v ran=%v %v", args[4], args[6], args[7], args[2], args[8], args[9])
		case rounds.FunctionDown:
			return fmt.Sprintf("down %v in %v ran=%v leaves=%v: %v", args[4], args[5], args[6], args[7], args[8])
		case rounds.FunctionLost:
			return fmt.Sprintf("lost %v entered=%v", args[4], args[5])
		case rounds.FunctionFinish:
			return fmt.Sprintf("finish %v held=%v", args[4], args[5])
		default:
			return fmt.Sprint(name, " ", args[4])
		}
	case Start:
		return fmt.Sprintf("start %s %d.%d", a.ID, a.Generation, a.Round)
	case Stop:
		return fmt.Sprintf("stop %s %s%s", a.ID, a.Grace, map[Haste]string{Stuck: " stuck", Hung: " hung"}[a.Haste])
	case Remove:
		return "remove " + strings.Join(a.IDs, " ")
	case Save:
		if saves {
			i := a.Instance
			return fmt.Sprintf("save %d.%d %s.%d in %d", a.Generation, a.Highest, i.ID, i.Attempt, i.Round)
		}
	case TellRound:
		return fmt.Sprintf("tell %d.%d", a.Generation, a.Round)
	case Read, Prepare, Release, Observe:
		return strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", a), "worker."))
	}
	return ""
}

func config(barrier bool, change ...func(*Config)) Config {
	c := Config{Slot: rounds.Slot{Name: "js-w-0-0", Pod: "pod"}, Generation: 1, Grace: 10 * time.Second, Barrier: barrier, PodName: "js-w-0-0-abc", Node: "n1"}
	for _, f := range change {
		f(&c)
	}
	return c
}

// expect applies the moments in before to set up the worker, and then compares the actions of the other moments with want.
func expect(t *testing.T, s *State, before []moment, moments []moment, want string) {
	t.Helper()
	play(s, false, before...)
	if got := play(s, false, moments...); got != want {
		t.Errorf("does   %s\nwanted %s", got, want)
	}
}
