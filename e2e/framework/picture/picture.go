// Package picture draws the panels of a dashboard as a single SVG. It needs neither a browser nor fonts. The same
// input always produces the same bytes.
package picture

import (
	"fmt"
	"html"
	"strings"
	"time"
)

// Panel is a titled picture that shows a single number or lines over time.
type Panel struct {
	Title  string
	Unit   string // in Grafana's notation
	Number bool   // show only the last value of the first series
	Stack  bool   // draw each series on top of the preceding ones
	Series []Series
}

// Series is a line.
type Series struct {
	Name   string
	Points []Point
}

// Point is a value at a time.
type Point struct {
	Time  time.Time
	Value float64
}

const (
	columns = 3
	width   = 400
	height  = 210
	gap     = 12
	header  = 56
)

var colours = []string{"#2f6fde", "#e0752d", "#3a9d5d", "#c9356b", "#7a52c7", "#8f8f3a", "#2aa1a8", "#9a5b3c", "#5b6770", "#b8429b"}

// SVG draws the panels in order, three per row, for the time between from and to.
func SVG(title string, from, to time.Time, panels []Panel) string {
	rows := (len(panels) + columns - 1) / columns
	w, h := columns*(width+gap)+gap, header+rows*(height+gap)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="11">`+"\n", w, h, w, h)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#f4f5f7"/>`+"\n", w, h)
	text(&b, gap, 24, `font-size="18" font-weight="bold" fill="#1f2430"`, title)
	text(&b, gap, 44, `fill="#5b6370"`, fmt.Sprintf("%s of an end-to-end run", to.Sub(from).Round(time.Second)))
	for i, p := range panels {
		p.draw(&b, gap+i%columns*(width+gap), header+i/columns*(height+gap), from, to)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func (p Panel) draw(b *strings.Builder, x, y int, from, to time.Time) {
	fmt.Fprintf(b, `<g transform="translate(%d %d)">`+"\n", x, y)
	fmt.Fprintf(b, `<rect width="%d" height="%d" rx="4" fill="#ffffff" stroke="#dfe2e7"/>`+"\n", width, height)
	text(b, 10, 19, `font-weight="bold" fill="#1f2430"`, p.Title)
	if p.Number {
		p.drawNumber(b)
	} else {
		p.drawLines(b, from, to)
	}
	b.WriteString("</g>\n")
}

func (p Panel) drawNumber(b *strings.Builder) {
	value := "no data"
	if len(p.Series) > 0 && len(p.Series[0].Points) > 0 {
		points := p.Series[0].Points
		value = Format(points[len(points)-1].Value, p.Unit)
	}
	text(b, width/2, height/2+22, `font-size="44" text-anchor="middle" fill="#2f6fde"`, value)
}

func text(b *strings.Builder, x, y int, attributes, content string) {
	fmt.Fprintf(b, `<text x="%d" y="%d" %s>%s</text>`+"\n", x, y, attributes, html.EscapeString(content))
}
