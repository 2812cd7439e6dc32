package picture

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var begin = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func line(name string, values ...float64) Series {
	s := Series{Name: name}
	for i, v := range values {
		s.Points = append(s.Points, Point{begin.Add(time.Duration(i) * time.Second), v})
	}
	return s
}

func TestThePictureIsValidXMLAndDeterministic(t *testing.T) {
	panels := []Panel{
		{Title: "Lost & found", Unit: "s", Stack: true, Series: []Series{line("a<b", 1, 2, 3), line("c", 3, math.NaN(), 1)}},
		{Title: "Goodput", Unit: "percentunit", Number: true, Series: []Series{line("", 0.5, 0.987)}},
		{Title: "Nothing"},
		{Title: "Nothing yet", Number: true},
	}
	got := SVG("Board", begin, begin.Add(2*time.Second), panels)
	if got != SVG("Board", begin, begin.Add(2*time.Second), panels) {
		t.Error("the same input produces different pictures")
	}
	decoder := xml.NewDecoder(strings.NewReader(got))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for _, part := range []string{"Lost &amp; found", "a&lt;b", ">98.7 %<", ">no data<"} {
		if !strings.Contains(got, part) {
			t.Errorf("the picture does not show %s", part)
		}
	}
	if strings.Contains(got, "NaN") || strings.Contains(got, "Inf") {
		t.Error("a value that is not a number is drawn")
	}
}

func TestStacksAddUp(t *testing.T) {
	got := Panel{Stack: true, Series: []Series{line("a", 1, 2), line("b", 10, math.NaN())}}.heights()
	want := []Series{line("a", 1, 2), line("b", 11)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestTheLegendShowsBusySeries(t *testing.T) {
	var series []Series
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		series = append(series, line(name, 0, math.NaN()))
	}
	got := SVG("Board", begin, begin.Add(time.Second), []Panel{{Series: append(series, line("late", 0, 1), line("later", 0, 2))}})
	for name, want := range map[string]bool{"late": true, "later": true, "a": true, "d": true, "e": false} {
		if strings.Contains(got, ">"+name+"<") != want {
			t.Errorf("%s is in the legend: %t", name, !want)
		}
	}
}

func TestLinesBreakAtMissingValues(t *testing.T) {
	if got := whole(line("", 1, math.NaN(), 2, 3).Points); len(got) != 2 || len(got[0]) != 1 || len(got[1]) != 2 {
		t.Errorf("got %v", got)
	}
}

func TestCeilingsAreRound(t *testing.T) {
	for highest, want := range map[float64]float64{0: 1, 0.3: 0.4, 1: 1, 7: 10, 1.1: 2, 450: 500} {
		if got := ceiling([]Series{line("", highest)}); math.Abs(got-want) > 1e-9 {
			t.Errorf("of %v: got %v, want %v", highest, got, want)
		}
	}
}

func TestFormat(t *testing.T) {
	for want, c := range map[string]struct {
		value float64
		unit  string
	}{
		"98.7 %": {0.98712, "percentunit"}, "85 ms": {0.085, "s"}, "1.28 s": {1.28, "s"}, "10 min": {600, "s"}, "3 h": {10800, "s"},
		"128 MiB": {128 << 20, "bytes"}, "12.5/s": {12.5, "ops"}, "2500": {2500, "short"}, "-": {math.NaN(), "s"}, "0": {0, "none"}, "0 s": {0, "s"},
	} {
		if got := Format(c.value, c.unit); got != want {
			t.Errorf("%v %s: got %q, want %q", c.value, c.unit, got, want)
		}
	}
}
