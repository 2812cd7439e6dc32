package member

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

var start = time.UnixMilli(1_000_000)

// moment is an event and how long after the one before it happened.
type moment struct {
	after time.Duration
	event Event
}

func at(after time.Duration, e Event) moment { return moment{after, e} }

// look is an Observed of workers given as "a@10" (running, born at 10) or "a@10=1" (exited with 1).
func look(workers ...string) moment {
	o := Observed{PodBorn: 5}
	for _, w := range workers {
		id, rest, _ := strings.Cut(w, "@")
		born, code, exited := strings.Cut(rest, "=")
		n := Worker{Instance: coordination.Instance{ID: id, Born: number(born)}, Running: !exited}
		if exited {
			n.ExitCode, n.FinishedAt = number(code), start.UnixMilli()
		}
		o.Workers = append(o.Workers, n)
	}
	return at(0, o)
}

func number(s string) int64 {
	var n int64
	if _, err := fmt.Sscan(s, &n); err != nil {
		panic(fmt.Sprintf("%q: %v", s, err))
	}
	return n
}

// level reads "store/generation epoch.round Phase #seq [steps [delay]]", the delay in milliseconds. Without steps there is one that has entered at 0, but
// while the group forms.
func level(s string) coordination.Level {
	l := coordination.Level{Steps: "0"}
	parts := strings.Fields(s)
	if len(parts) == 6 {
		l.Delay, parts = number(parts[5]), parts[:5]
	}
	if len(parts) == 5 {
		l.Steps, s = parts[4], strings.Join(parts[:4], " ")
	} else if strings.Contains(s, "Forming") {
		l.Steps = "-"
	}
	var phase string
	if _, err := fmt.Sscanf(s, "%1s/%d %d.%d %s #%d", &l.Incarnation, &l.Generation, &l.Epoch, &l.Round, &phase, &l.Seq); err != nil {
		panic(fmt.Sprintf("%q: %v", s, err))
	}
	l.Phase = coordination.Phase(phase)
	return l
}

func read(s string) moment { return at(0, Told{coordination.Observation{Level: level(s), Read: true}}) }
func cast(s string) moment { return at(0, Told{coordination.Observation{Level: level(s)}}) }
func lost(err error) moment {
	return at(0, Told{coordination.Observation{Err: err}})
}

// reply answers the call in flight with the round of the instance.
func reply(round int64, s string) moment {
	return at(0, Answered{Reply: coordination.Reply{Level: level(s), Round: round}})
}

// released answers it for a slot that nothing will make run (again).
func released(s string) moment {
	return at(0, Answered{Reply: coordination.Reply{Level: level(s), Round: coordination.NoRound, Released: true}})
}

// inStep answers it for a slot of another step than the first.
func inStep(step, round int64, s string) moment {
	return at(0, Answered{Reply: coordination.Reply{Level: level(s), Round: round, Step: step, Stage: step}})
}

func fails(err error) moment      { return at(0, Answered{Err: err}) }
func stopped(id string) moment    { return at(0, StopEnded{ID: id, Took: 70 * time.Millisecond}) }
func tick(d time.Duration) moment { return at(d, Tick{}) }

func newState(m Memory) *State {
	return New(Config{Slot: "js-w-0-0", Pod: "pod", Grace: 10 * time.Second, Random: func() float64 { return 1 }}, m)
}

// play runs the moments and returns what was done, a line per action.
func play(s *State, logs bool, moments ...moment) []string {
	var lines []string
	now := start
	for _, m := range moments {
		now = now.Add(m.after)
		for _, a := range s.Step(now, m.event) {
			if _, isLog := a.(Log); !isLog || logs {
				lines = append(lines, show(a))
			}
		}
	}
	return lines
}

func show(a Action) string {
	switch a := a.(type) {
	case Begin:
		return "begin"
	case Lift:
		return fmt.Sprintf("lift %s %d.%d", a.ID, a.Epoch, a.Round)
	case Release:
		return "release"
	case Join:
		return fmt.Sprintf("join %s %s", a.ID, showSeen(a.Seen)) + only(a.RunsFor > 0, fmt.Sprint(" for=", a.RunsFor))
	case Down:
		return fmt.Sprintf("down %s code=%d ordered=%t", a.ID, a.ExitCode, a.Ordered) +
			only(a.Kind != "", fmt.Sprintf(" %s/%s/%d silent from %d to %d", a.Kind, a.Reason, a.Signal, a.FailedAt, a.DetectedAt))
	case Ask:
		return "ask " + a.Kind
	case Stop:
		return fmt.Sprintf("stop %s %s", a.ID, a.Grace) + []string{"", " stuck", " hung"}[a.Haste]
	case Remove:
		return "remove " + strings.Join(a.IDs, " ")
	case Save:
		return fmt.Sprintf("save %s %s", a.Instance.ID, showSeen(a.seen(a.Instance.ID)))
	case WriteRound:
		return fmt.Sprintf("round %d.%d", a.Epoch, a.Round)
	case Look:
		return "look"
	case Log:
		return strings.TrimSpace("log " + a.Message + " " + showFields(a.Fields))
	}
	panic(fmt.Sprintf("unknown action %T", a))
}

func only(is bool, text string) string {
	if is {
		return text
	}
	return ""
}

func showSeen(s coordination.Seen) string {
	if s.Round == coordination.NoRound {
		return "unseen"
	}
	out := fmt.Sprintf("%d.%d x%d", s.Epoch, s.Round, s.Instances)
	if s.Holds {
		out += " holds"
	}
	if s.Running {
		out += " running"
	}
	if s.Entered && !s.Running { // who saw it Running saw it enter
		out += " entered"
	}
	return out
}

func showFields(fields []any) string {
	var out []string
	for i := 0; i+1 < len(fields); i += 2 {
		out = append(out, fmt.Sprintf("%v=%v", fields[i], fields[i+1]))
	}
	return strings.Join(out, " ")
}

func compare(t *testing.T, got []string, want string) {
	t.Helper()
	wanted := strings.Fields(strings.TrimSpace(want))
	if strings.Join(strings.Fields(strings.Join(got, "\n")), " ") != strings.Join(wanted, " ") {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), want)
	}
}
