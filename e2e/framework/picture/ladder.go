package picture

import (
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-project/holdfast/shared/timeline"
)

// levels names the recovery levels by number. Level 0 is the workload itself, which starts, succeeds and fails.
var levels = [...]string{
	"the workload", "1  processes, in place", "2  containers, in place", "3  fewer workers", "4  another node", "5  recreated Jobs", "6  reset workload",
}

// Layout of the picture. Each response has a column, in chronological order. The columns are not to scale, because a
// second with failures is more informative than a quiet minute.
const (
	names     = 200 // width of the column with the names of the levels
	levelStep = 34
	topLevel  = 76
	ground    = topLevel + (len(levels)-1)*levelStep
	lineStep  = 16
	listTop   = ground + 52
	ladderW   = columns*(width+gap) + gap
	rightGap  = 24
	longText  = 150 // runes per line of the list
)

// Ladder draws what happened to a workload: which recovery level acted, when, and why. Steps within a recovery are left
// out.
func Ladder(title string, entries []timeline.Entry) string {
	shown := answers(entries)
	h := listTop + len(shown)*lineStep + gap
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="11">`+"\n", ladderW, h, ladderW, h)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", ladderW, h)
	text(&b, gap, 24, `font-size="18" font-weight="bold" fill="#1f2430"`, title)
	text(&b, gap, 44, `fill="#5b6370"`, "Each fault is handled once, at the cheapest recovery level that can handle it. The height shows the level; the number refers to the list below.")
	for level, name := range levels {
		y := heightOf(level)
		fmt.Fprintf(&b, `<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="#dfe2e7"/>`+"\n", names, y, ladderW-rightGap, y)
		text(&b, gap, y+4, `fill="#3c4350"`, name)
	}
	for i, e := range shown {
		drawAnswer(&b, i, len(shown), e)
		text(&b, gap, listTop+i*lineStep, `fill="#3c4350"`, lineOf(i, shown[0].At, e))
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func answers(entries []timeline.Entry) []timeline.Entry {
	var shown []timeline.Entry
	for _, e := range entries {
		if e.What != timeline.Repair && e.What != timeline.Noted && e.Level < len(levels) {
			shown = append(shown, e)
		}
	}
	return shown
}

func heightOf(level int) int { return ground - level*levelStep }

func drawAnswer(b *strings.Builder, i, of int, e timeline.Entry) {
	x := names + (2*i+1)*(ladderW-rightGap-names)/(2*of)
	y, colour := heightOf(e.Level), colourOf(e)
	fmt.Fprintf(b, `<line x1="%d" y1="%d" x2="%d" y2="%d" stroke="%s" stroke-width="3"/>`+"\n", x, ground, x, y, colour)
	fmt.Fprintf(b, `<circle cx="%d" cy="%d" r="10" fill="%s"/>`+"\n", x, y, colour)
	text(b, x, y+4, `text-anchor="middle" fill="#ffffff"`, fmt.Sprint(i+1))
}

func colourOf(e timeline.Entry) string {
	switch {
	case e.What == timeline.Failed:
		return "#b3261e"
	case e.Level == 0:
		return "#8a919e"
	}
	return colours[(e.Level-1)%len(colours)]
}

// lineOf returns a line of the list: the time since the first entry, what happened, how it was counted, how long it
// took, and why.
func lineOf(i int, first time.Time, e timeline.Entry) string {
	words := []string{fmt.Sprintf("%d.  +%.1f s  %s", i+1, e.At.Sub(first).Seconds(), e.What)}
	if e.Count > 0 && e.Limit > 0 {
		words = append(words, fmt.Sprintf("%d of %d", e.Count, e.Limit))
	}
	if e.Took > 0 && e.Level > 0 {
		words = append(words, "took "+Format(e.Took.Seconds(), "s"))
	}
	if e.Result != "" {
		words = append(words, e.Result)
	}
	if e.Cause != "" {
		words = append(words, e.Cause)
	}
	whole := []rune(strings.Join(words, ", "))
	if len(whole) > longText {
		whole = append(whole[:longText-3], []rune("...")...)
	}
	return string(whole)
}
