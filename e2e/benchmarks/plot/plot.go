// Package plot draws small SVG charts for pages with a light or a dark background.
package plot

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// Bar is one bar with its error bar.
type Bar struct {
	Name               string
	Value, Least, Most float64
	Text               string // after the bar; empty: none
}

// Bars draws horizontal bars on a logarithmic axis, so that equal ratios have equal lengths. Values of 0 or less have
// no bar.
type Bars struct {
	Title, Axis string
	Bars        []Bar
}

// Dimensions of a chart, in pixels.
const (
	width      = 760
	left       = 190
	right      = 130
	top        = 44
	row        = 30
	thickness  = 16
	bottom     = 44
	lineHeight = 260
)

// colors distinguish series on either background.
var colors = []string{"#2f7ed8", "#d9822b", "#3c9d4e", "#8a5fc2", "#c23b5a", "#6b7780"}

const ink = "#8a8f98" // readable on white and on black

// SVG draws the chart.
func (b Bars) SVG() string {
	height := top + row*len(b.Bars) + bottom
	low, high := b.decades()
	x := func(v float64) float64 {
		return left + (math.Log10(v)-low)/(high-low)*(width-left-right)
	}
	var out strings.Builder
	begin(&out, height, b.Title)
	for d := low; d <= high; d++ {
		at := x(math.Pow(10, d))
		fmt.Fprintf(&out, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="%s" stroke-opacity="0.35"/>`+"\n", at, top-6, at, height-bottom, ink)
		text(&out, at, height-bottom+16, "middle", tick(math.Pow(10, d)))
	}
	text(&out, (left+width-right)/2, height-8, "middle", b.Axis)
	for i, bar := range b.Bars {
		y := top + row*i
		text(&out, left-8, y+thickness-3, "end", bar.Name)
		if bar.Value <= 0 {
			continue
		}
		end := x(bar.Value)
		fmt.Fprintf(&out, `<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/>`+"\n", left, y, math.Max(1, end-left), thickness, colors[i%len(colors)])
		if bar.Least > 0 && bar.Most > bar.Least {
			fmt.Fprintf(&out, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="%s" stroke-width="2"/>`+"\n",
				x(bar.Least), y+thickness/2, x(bar.Most), y+thickness/2, ink)
			end = math.Max(end, x(bar.Most))
		}
		text(&out, end+6, y+thickness-3, "start", bar.Text)
	}
	out.WriteString("</svg>\n")
	return out.String()
}

// decades returns the powers of ten that enclose all values.
func (b Bars) decades() (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, bar := range b.Bars {
		for _, v := range []float64{bar.Value, bar.Least, bar.Most} {
			if v > 0 {
				low, high = math.Min(low, math.Floor(math.Log10(v))), math.Max(high, math.Ceil(math.Log10(v)))
			}
		}
	}
	if math.IsInf(low, 1) {
		return 0, 1
	}
	return low, math.Max(high, low+1)
}

// Point is a point of a line.
type Point struct{ X, Y float64 }

// Line is one series.
type Line struct {
	Name   string
	Points []Point
}

// Lines draws series with a logarithmic y axis. The x axis is linear and starts at 0. Points whose y is 0 or less are
// left out.
type Lines struct {
	Title, X, Y string
	Lines       []Line
}

// SVG draws the chart.
func (l Lines) SVG() string {
	most := 1.0
	var ys Bars
	for _, line := range l.Lines {
		for _, p := range line.Points {
			most = math.Max(most, p.X)
			ys.Bars = append(ys.Bars, Bar{Value: p.Y})
		}
	}
	low, high := ys.decades()
	const margin, height = 70, top + lineHeight + bottom
	x := func(v float64) float64 { return margin + v/most*(width-margin-right-60) }
	y := func(v float64) float64 { return top + lineHeight - (math.Log10(v)-low)/(high-low)*lineHeight }
	var out strings.Builder
	begin(&out, height, l.Title)
	for d := low; d <= high; d++ {
		at := y(math.Pow(10, d))
		fmt.Fprintf(&out, `<line x1="%d" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s" stroke-opacity="0.35"/>`+"\n", margin, at, x(most), at, ink)
		text(&out, margin-8, int(at)+4, "end", tick(math.Pow(10, d)))
	}
	for i := range 6 {
		v := most * float64(i) / 5
		text(&out, x(v), height-bottom+18, "middle", tick(v))
	}
	text(&out, (margin+x(most))/2, height-8, "middle", l.X)
	text(&out, margin, top-10, "start", l.Y)
	for i, line := range l.Lines {
		color := colors[i%len(colors)]
		var path []string
		for _, p := range line.Points {
			if p.Y <= 0 {
				continue
			}
			path = append(path, fmt.Sprintf("%.1f,%.1f", x(p.X), y(p.Y)))
			fmt.Fprintf(&out, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n", x(p.X), y(p.Y), color)
		}
		fmt.Fprintf(&out, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", strings.Join(path, " "), color)
		fmt.Fprintf(&out, `<rect x="%.1f" y="%d" width="12" height="12" fill="%s"/>`+"\n", x(most)+14, top+20*i, color)
		text(&out, x(most)+32, top+20*i+11, "start", line.Name)
	}
	out.WriteString("</svg>\n")
	return out.String()
}

func begin(out *strings.Builder, height int, title string) {
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12" fill="%s">`+"\n",
		width, height, width, height, ink)
	fmt.Fprintf(out, "<title>%s</title>\n", html.EscapeString(title))
	fmt.Fprintf(out, `<text x="10" y="18" font-size="14" font-weight="bold">%s</text>`+"\n", html.EscapeString(title))
}

func text(out *strings.Builder, x float64, y int, anchor, what string) {
	if what != "" {
		fmt.Fprintf(out, `<text x="%.1f" y="%d" text-anchor="%s">%s</text>`+"\n", x, y, anchor, html.EscapeString(what))
	}
}

func tick(v float64) string { return fmt.Sprintf("%g", math.Round(v*1e6)/1e6) }
