package plot

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"
)

// elements parses a chart as XML, and returns the attributes of the elements with the given name.
func elements(t *testing.T, svg, name string) []map[string]string {
	t.Helper()
	var found []map[string]string
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatalf("no XML: %v\n%s", err, svg)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == name {
			attributes := map[string]string{}
			for _, a := range e.Attr {
				attributes[a.Name.Local] = a.Value
			}
			found = append(found, attributes)
		}
	}
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestEqualRatiosHaveEqualLengths(t *testing.T) {
	svg := Bars{Title: "a < b & c", Axis: "s", Bars: []Bar{
		{Name: "one", Value: 1}, {Name: "ten", Value: 10}, {Name: "hundred", Value: 100, Least: 50, Most: 200, Text: "x"}, {Name: "none"},
	}}.SVG()
	rects := elements(t, svg, "rect")
	if len(rects) != 3 {
		t.Fatalf("%d bars, want 3", len(rects))
	}
	var widths []float64
	for _, r := range rects {
		widths = append(widths, number(t, r["width"]))
	}
	if first, second := widths[1]-widths[0], widths[2]-widths[1]; first < 50 || math.Abs(first-second) > 1.1 {
		t.Errorf("tenfold is %.1f, then %.1f", first, second)
	}
	if !strings.Contains(svg, "a &lt; b &amp; c") {
		t.Error("the title is not escaped")
	}
}

func TestAnEmptyChartIsValid(t *testing.T) {
	elements(t, Bars{}.SVG(), "rect")
	elements(t, Lines{}.SVG(), "polyline")
}

func TestLinesLeaveOutPointsThatCannotBeDrawn(t *testing.T) {
	svg := Lines{Title: "t", X: "n", Y: "s", Lines: []Line{
		{Name: "a", Points: []Point{{0, 1}, {50, 0}, {100, 100}}}, {Name: "b", Points: []Point{{100, 10}}},
	}}.SVG()
	circles := elements(t, svg, "circle")
	if len(circles) != 3 {
		t.Fatalf("%d points, want 3", len(circles))
	}
	if low, high := number(t, circles[0]["cy"]), number(t, circles[1]["cy"]); low <= high {
		t.Errorf("1 is drawn at %.0f, 100 at %.0f: the larger value is not higher", low, high)
	}
	if got := len(elements(t, svg, "polyline")); got != 2 {
		t.Errorf("%d lines, want 2", got)
	}
}
