package history

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 120e6, time.UTC)

func anExit() Entry {
	return Entry{
		Attempt: Attempt{1, 3}, FailedAt: noon, Kind: InPlace, Cause: Cause{Kind: "exit", ExitCode: 137, Signal: "SIGKILL", Reason: "OOMKilled"},
		Worker: "workers-0-12", Pod: "x7k2p", Node: "node-a", Took: [phases]Milliseconds{1, 2, 30, 48}, Counted: true,
	}
}

func TestLines(t *testing.T) {
	cases := map[string]struct {
		entry Entry
		want  string
	}{
		"an exit": {anExit(), `{"generation":1,"restart":3,"failedAt":"2026-11-22T12:00:00.12Z","kind":"in-place",` +
			`"cause":{"kind":"exit","exitCode":137,"signal":"SIGKILL","reason":"OOMKilled"},"worker":"workers-0-12","pod":"x7k2p","node":"node-a",` +
			`"ms":[1,2,30,48],"counted":true}`},
		"a hang followed by another failure": {Entry{
			Attempt: Attempt{1, 4}, FailedAt: noon, Kind: InPlace, Cause: Cause{Kind: "hang", Reason: "30s"},
			Worker: "w-0-1", Took: [phases]Milliseconds{30004}, Ended: Overtaken, Counted: true,
		}, `{"generation":1,"restart":4,"failedAt":"2026-11-22T12:00:00.12Z","kind":"in-place","cause":{"kind":"hang","reason":"30s"},"worker":"w-0-1",` +
			`"ms":[30004,0,0,0],"ended":"overtaken","counted":true}`},
		"a recreation that does not count": {Entry{
			Attempt: Attempt{2, 0}, FailedAt: noon, Kind: Recreation, Cause: Cause{Kind: "timeout"}, Took: [phases]Milliseconds{0, 0, 0, 9120},
		}, `{"generation":2,"restart":0,"failedAt":"2026-11-22T12:00:00.12Z","kind":"recreation","cause":{"kind":"timeout"},"ms":[0,0,0,9120],"counted":false}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			text := Format([]Entry{tc.entry})
			if diff := cmp.Diff(tc.want+"\n", text); diff != "" {
				t.Error(diff)
			}
			back, err := Parse(text)
			if diff := cmp.Diff([]Entry{tc.entry}, back); diff != "" || err != nil {
				t.Errorf("the parsed entry differs, error %v:\n%s", err, diff)
			}
		})
	}
}

// The leader adds restarts that it does not find in the text. If it could not read back what it has written, it would write it
// repeatedly.
func TestImpossibleValuesAreReadBack(t *testing.T) {
	for name, change := range map[string]func(*Entry){
		"a negative time":       func(e *Entry) { e.Took[Down] = -1 },
		"an endless time":       func(e *Entry) { e.Took[Down] = math.MaxInt64 },
		"a time before 1970":    func(e *Entry) { e.FailedAt = time.Time{} },
		"a year of five digits": func(e *Entry) { e.FailedAt = time.UnixMilli(1 << 53) },
		"no cause":              func(e *Entry) { e.Cause = Cause{} },
		"separators":            func(e *Entry) { e.Cause.Kind, e.Cause.Reason, e.Worker, e.Node = " :", "\n:", "@/ ", "@" },
		"broken characters":     func(e *Entry) { e.Cause.Kind, e.Pod = "\xff\x00", strings.Repeat("é", maxWord) },
	} {
		t.Run(name, func(t *testing.T) {
			e := anExit()
			change(&e)
			if back, err := Parse(Format([]Entry{e})); err != nil || len(back) != 1 || back[0].Attempt != e.Attempt {
				t.Errorf("%+v is parsed as %+v, error %v", e, back, err)
			}
		})
	}
}

func TestFormatLimits(t *testing.T) {
	var list []Entry
	for round := range int64(50) {
		e := anExit()
		e.Round = round
		list = append(list, e)
	}
	got, err := Parse(Format(list))
	if err != nil || len(got) != MaxEntries || got[MaxEntries-1].Round != 49 {
		t.Errorf("%d entries, the last %+v, error %v; want the newest %d", len(got), got[len(got)-1], err, MaxEntries)
	}
	for i := range list {
		for _, name := range []*string{&list[i].Cause.Kind, &list[i].Cause.Reason, &list[i].Worker, &list[i].Pod, &list[i].Node} {
			*name = strings.Repeat("\x00<", 4*maxWord)
		}
	}
	if size := len(Format(list)); size > 32<<10 {
		t.Errorf("%d bytes, which could exceed the limit for all annotations of an object", size)
	}
}

func TestParseSkipsInvalidLines(t *testing.T) {
	later := strings.Replace(Format([]Entry{anExit()}), "{", `{"ofALaterVersion":1,`, 1)
	text := `{"failedAt":"yesterday"}` + "\n" + later + "rubbish"
	got, err := Parse(text)
	if len(got) != 1 || got[0] != anExit() || err == nil || !strings.Contains(err.Error(), "rubbish") {
		t.Errorf("%+v, error %v", got, err)
	}
}

// Any name stays within its line, and parsing any text terminates.
func TestParseForeignTexts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	const letters = "ab:{} \n[]-.0,\""
	text := func() string {
		b := make([]byte, r.IntN(30))
		for i := range b {
			b[i] = letters[r.IntN(len(letters))]
		}
		return string(b)
	}
	for range 20_000 {
		e := anExit()
		e.Worker, e.Pod, e.Node, e.Cause.Reason, e.Cause.Signal = "w"+text(), text(), text(), text(), text()
		if got, err := Parse(Format([]Entry{e})); err != nil || len(got) != 1 || got[0].Took != e.Took {
			t.Fatalf("%+v: %+v, error %v", e, got, err)
		}
		list, _ := Parse(text() + "\n" + `{"generation":` + text())
		again, err := Parse(Format(list))
		if err != nil || len(again) != len(list) {
			t.Fatalf("%+v becomes %+v, error %v", list, again, err)
		}
	}
}

func TestAttemptAfter(t *testing.T) {
	for _, tc := range []struct {
		a, b Attempt
		want bool
	}{{Attempt{1, 2}, Attempt{1, 1}, true}, {Attempt{2, 0}, Attempt{1, 9}, true}, {Attempt{1, 1}, Attempt{1, 1}, false}, {Attempt{1, 1}, Attempt{2, 0}, false}} {
		if got := tc.a.After(tc.b); got != tc.want {
			t.Errorf("%v after %v is %v", tc.a, tc.b, got)
		}
	}
}
