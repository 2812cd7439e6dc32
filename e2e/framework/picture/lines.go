package picture

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Layout of the plot area of a panel. The legend is below it.
const (
	left, top     = 52, 32
	plotW, plotH  = width - left - 14, 112
	legendTop     = top + plotH + 30
	legendColumns = 2
	legendRows    = 3
	ticks         = 4
)

func (p Panel) drawLines(b *strings.Builder, from, to time.Time) {
	p.Series = busyFirst(p.Series)
	series := p.heights()
	highest := ceiling(series)
	p.drawAxis(b, highest, to.Sub(from))
	for i := len(series) - 1; i >= 0; i-- { // draw the first series on top, as in the legend
		for _, part := range whole(series[i].Points) {
			drawPart(b, part, colours[i%len(colours)], p.Stack, from, to, highest)
		}
	}
	for i, s := range series {
		if i >= legendColumns*legendRows {
			break
		}
		x, y := left+i%legendColumns*(plotW/legendColumns), legendTop+i/legendColumns*15
		fmt.Fprintf(b, `<rect x="%d" y="%d" width="9" height="9" fill="%s"/>`+"\n", x, y-9, colours[i%len(colours)])
		text(b, x+14, y, `fill="#3c4350"`, s.Name)
	}
}

// busyFirst sorts series with a nonzero value at some time before the others, because the legend has limited
// space.
func busyFirst(series []Series) []Series {
	sorted := slices.Clone(series)
	slices.SortStableFunc(sorted, func(a, b Series) int {
		switch {
		case a.busy() == b.busy():
			return 0
		case a.busy():
			return -1
		}
		return 1
	})
	return sorted
}

func (s Series) busy() bool {
	return slices.ContainsFunc(s.Points, func(p Point) bool { return drawable(p.Value) && p.Value > 0 })
}

// heights returns the series as drawn. With Stack, each is the sum of itself and the preceding ones.
func (p Panel) heights() []Series {
	if !p.Stack {
		return p.Series
	}
	below := map[time.Time]float64{}
	var out []Series
	for _, s := range p.Series {
		raised := Series{Name: s.Name}
		for _, point := range s.Points {
			if !drawable(point.Value) {
				continue
			}
			below[point.Time] += point.Value
			raised.Points = append(raised.Points, Point{point.Time, below[point.Time]})
		}
		out = append(out, raised)
	}
	return out
}

func drawable(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// whole splits a line at values that cannot be drawn.
func whole(points []Point) [][]Point {
	var parts [][]Point
	var part []Point
	for _, p := range points {
		if drawable(p.Value) {
			part = append(part, p)
			continue
		}
		if len(part) > 0 {
			parts = append(parts, part)
		}
		part = nil
	}
	if len(part) > 0 {
		parts = append(parts, part)
	}
	return parts
}

// ceiling returns a round number that no line exceeds.
func ceiling(series []Series) float64 {
	highest := 0.0
	for _, s := range series {
		for _, p := range s.Points {
			if drawable(p.Value) {
				highest = max(highest, p.Value)
			}
		}
	}
	if highest <= 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(highest)))
	for _, step := range []float64{1, 2, 4, 5, 10} {
		if step*power >= highest {
			return step * power
		}
	}
	return 10 * power
}

func (p Panel) drawAxis(b *strings.Builder, highest float64, whole time.Duration) {
	for i := range ticks + 1 {
		y := top + plotH - i*plotH/ticks
		fmt.Fprintf(b, `<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="#e6e8ec"/>`+"\n", left, y, left+plotW, y)
		text(b, left-6, y+4, `text-anchor="end" fill="#5b6370"`, Format(highest*float64(i)/ticks, p.Unit))
	}
	for i := range ticks + 1 {
		at := whole * time.Duration(i) / ticks
		text(b, left+i*plotW/ticks, top+plotH+14, `text-anchor="middle" fill="#5b6370"`, fmt.Sprintf("%d:%02d", int(at.Minutes()), int(at.Seconds())%60))
	}
	if len(p.Series) == 0 {
		text(b, left+plotW/2, top+plotH/2, `text-anchor="middle" fill="#5b6370"`, "no data")
	}
}

func drawPart(b *strings.Builder, points []Point, colour string, fill bool, from, to time.Time, highest float64) {
	var path strings.Builder
	x := func(p Point) float64 { return left + plotW*p.Time.Sub(from).Seconds()/to.Sub(from).Seconds() }
	for i, p := range points {
		command := "L"
		if i == 0 {
			command = "M"
		}
		fmt.Fprintf(&path, "%s%.1f %.1f", command, x(p), top+plotH*(1-p.Value/highest))
	}
	if fill {
		fmt.Fprintf(b, `<path d="%sL%.1f %d L%.1f %dZ" fill="%s" fill-opacity="0.25"/>`+"\n",
			path.String(), x(points[len(points)-1]), top+plotH, x(points[0]), top+plotH, colour)
	}
	fmt.Fprintf(b, `<path d="%s" fill="none" stroke="%s" stroke-width="1.5"/>`+"\n", path.String(), colour)
}
