package picture

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/shared/timeline"
)

func TestLadder(t *testing.T) {
	begin := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	svg := Ladder("One workload & its faults", []timeline.Entry{
		{At: begin, What: timeline.Started},
		{At: begin.Add(time.Second), Level: 1, What: timeline.InPlace, Count: 1, Limit: 6, Took: 50 * time.Millisecond, Cause: "worker 3 exited with code <1>"},
		{At: begin.Add(2 * time.Second), Level: 1, What: timeline.Repair, Cause: "a step"},
		{At: begin.Add(90 * time.Second), Level: 6, What: timeline.Reset, Cause: strings.Repeat("long ", 100)},
		{At: begin.Add(100 * time.Second), What: timeline.Failed},
	})
	for _, want := range []string{
		"One workload &amp; its faults", "2.  +1.0 s  restart in place, 1 of 6, took 50 ms, worker 3 exited with code &lt;1&gt;", "3.  +90.0 s  reset, long long", "...<",
		"4.  +100.0 s  failed", `r="10" fill="#b3261e"`, `cy="246" r="10" fill="#2f6fde"`, `cy="76" r="10"`,
	} {
		if !strings.Contains(svg, want) {
			t.Errorf("%q is missing in\n%s", want, svg)
		}
	}
	if strings.Contains(svg, "a step") || strings.Count(svg, "<circle") != 4 {
		t.Error("a step within a recovery is drawn as a recovery")
	}
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestLadderWithoutEntries(t *testing.T) {
	if svg := Ladder("nothing", nil); strings.Contains(svg, "<circle") || !strings.Contains(svg, "6  reset workload") {
		t.Error(svg)
	}
}
