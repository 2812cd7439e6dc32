package results

import (
	"fmt"

	"github.com/holdfast-project/holdfast/e2e/benchmarks/plot"
)

// figure adds a plot to the page.
func (p *page) figure(name, title, svg string) {
	p.figures[name] = svg
	p.line("\n![%s](%s/%s)", title, p.folder, name)
}

// outages plots a scenario at the largest size that was measured in more than one way.
func (p *page) outages(scenario string) {
	sizes := p.sizes(scenario)
	for i := len(sizes) - 1; i >= 0; i-- {
		n := sizes[i]
		if results := p.of(scenario, n); len(results) > 1 {
			title := fmt.Sprintf("%d workers, %s: seconds until all run again", n, what[scenario])
			chart := plot.Bars{Title: title, Axis: "seconds"}
			for _, r := range results {
				s := r.Outage()
				chart.Bars = append(chart.Bars, plot.Bar{Name: r.name(), Value: s.Median, Least: s.Least, Most: s.Most, Text: number(s.Median) + " s"})
			}
			p.figure(scenario+".svg", title, chart.SVG())
			break
		}
	}
	if len(sizes) < 2 {
		return
	}
	chart := plot.Lines{Title: "Seconds until all run again, by workers: " + what[scenario], X: "workers", Y: "seconds"}
	for _, way := range ways {
		line := plot.Line{Name: way}
		for _, n := range sizes {
			if r, ok := p.find(scenario, way, n); ok {
				line.Points = append(line.Points, plot.Point{X: float64(n), Y: r.Outage().Median})
			}
		}
		if len(line.Points) > 0 {
			chart.Lines = append(chart.Lines, line)
		}
	}
	p.figure(scenario+"-sizes.svg", chart.Title, chart.SVG())
}

func (p *page) repeatFigure(n int) {
	title := fmt.Sprintf("%d workers: seconds of each failure within ten minutes", n)
	chart := plot.Lines{Title: title, X: "failure", Y: "seconds"}
	for _, r := range p.of(Repeat, n) {
		line := plot.Line{Name: fmt.Sprintf("%s, %s", short(r), r.Variant)}
		for i, run := range r.Runs {
			line.Points = append(line.Points, plot.Point{X: float64(i + 1), Y: run.Seconds})
		}
		chart.Lines = append(chart.Lines, line)
	}
	p.figure(fmt.Sprintf("repeat-%d.svg", n), title, chart.SVG())
}

// short returns a short name for plots.
func short(r Result) string {
	name := map[string]string{CRI: "CRI", Exec: "exec"}[r.Way]
	if r.Kubelet == kubeletDefault {
		return name
	}
	return name + " " + r.Kubelet
}
