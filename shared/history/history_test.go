package history

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 120e6, time.UTC)

func ms(times ...int64) (took [phases]time.Duration) {
	for i, t := range times {
		took[i] = time.Duration(t) * time.Millisecond
	}
	return took
}

func anExit() Entry {
	return Entry{
		Attempt: Attempt{1, 3}, FailedAt: noon, Kind: InPlace, Cause: Cause{Kind: "exit", ExitCode: 137, Signal: "SIGKILL", Reason: "OOMKilled"},
		Worker: "workers-0-12", Pod: "x7k2p", Node: "node-a", Took: ms(1, 2, 30, 48), Counted: true,
	}
}

func TestLines(t *testing.T) {
	cases := map[string]struct {
		entry Entry
		want  string
	}{
		"an exit": {anExit(),
			"1.3 2026-11-22T12:00:00.120Z in-place exit:137:SIGKILL:OOMKilled workers-0-12/x7k2p@node-a 81=1+2+30+48"},
		"a hang followed by another failure": {Entry{
			Attempt: Attempt{1, 4}, FailedAt: noon, Kind: InPlace, Cause: Cause{Kind: "hang", Reason: "30s"},
			Worker: "w-0-1", Took: ms(30004), Ended: Overtaken, Counted: true,
		}, "1.4 2026-11-22T12:00:00.120Z in-place hang:::30s w-0-1 30004=30004+0+0+0 overtaken"},
		"a recreation that does not count": {Entry{
			Attempt: Attempt{2, 0}, FailedAt: noon, Kind: Recreation, Cause: Cause{Kind: "timeout"}, Took: ms(0, 0, 0, 9120),
		}, "2.0 2026-11-22T12:00:00.120Z recreation timeout - 9120=0+0+0+9120 uncounted"},
		"a negative exit code": {Entry{Attempt: Attempt{1, 1}, FailedAt: noon, Kind: InPlace, Cause: Cause{Kind: "exit", ExitCode: -1}, Node: "n", Counted: true},
			"1.1 2026-11-22T12:00:00.120Z in-place exit:-1 @n 0=0+0+0+0"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.entry.String()); diff != "" {
				t.Error(diff)
			}
			back, err := Parse(Format([]Entry{tc.entry}))
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
		"a negative time":       func(e *Entry) { e.Took[Down] = -time.Second },
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
				t.Errorf("%q is parsed as %+v, error %v", e, back, err)
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
		list[i].Node = strings.Repeat("n", 4*maxWord)
	}
	text := Format(list)
	got, err = Parse(text)
	if err != nil || len(text) > MaxBytes || len(got) == 0 || got[len(got)-1].Round != 49 {
		t.Errorf("%d bytes, %d entries, error %v", len(text), len(got), err)
	}
}

func TestWhole(t *testing.T) {
	long := anExit()
	long.Worker, long.Pod, long.Node = strings.Repeat("w", maxWord), strings.Repeat("p", maxWord), strings.Repeat("n", maxWord)
	many := func(e Entry, n int) string { return Format(slices.Repeat([]Entry{e}, n)) }
	for name, c := range map[string]struct {
		text string
		want bool
	}{
		"nothing was added":             {"", true},
		"a few":                         {many(anExit(), 3), true},
		"the maximum number of entries": {many(anExit(), MaxEntries), false},
		"long entries that fill it":     {many(long, 12), false},
		"entries of a later version":    {many(anExit(), 2) + "\nrubbish", false},
	} {
		if got := Whole(c.text); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestParseSkipsInvalidLines(t *testing.T) {
	text := "1.3 yesterday in-place exit w 0=0+0+0+0\n" + anExit().String() + " of-a-later-version\nrubbish"
	got, err := Parse(text)
	if len(got) != 1 || got[0] != anExit() || err == nil || !strings.Contains(err.Error(), "rubbish") {
		t.Errorf("%+v, error %v", got, err)
	}
}

// Whatever a name contains, it stays within its line, and parsing any text terminates.
func TestParseForeignTexts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	const letters = "ab:/@ \n=+-.0#"
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
		if got, err := Parse(e.String()); err != nil || len(got) != 1 || got[0].Took != e.Took {
			t.Fatalf("%q: %+v, error %v", e.String(), got, err)
		}
		list, _ := Parse(text() + "\n" + fmt.Sprint("1.1 ", text()))
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
