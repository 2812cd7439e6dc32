package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// titles maps failures to headings.
var titles = map[string]string{"killed": "A process is killed", "hung": "A rank hangs", "deleted": "A pod is deleted"}

// page returns the page about results.
func page(all []result) string {
	b := &strings.Builder{}
	fmt.Fprintf(b, introduction, workers, hangTimeout)
	fmt.Fprint(b, "\n## Seconds to the next step\n\n| recovery |")
	for _, failure := range failures {
		fmt.Fprintf(b, " %s |", strings.ToLower(titles[failure]))
	}
	fmt.Fprintf(b, " runs | measured | load |\n|---|%s---:|---|---:|\n", strings.Repeat("---:|", len(failures)))
	for _, r := range all {
		fmt.Fprintf(b, "| %s |", r.Way)
		for _, failure := range failures {
			fmt.Fprintf(b, " %s |", span(r.Outcomes[failure]))
		}
		fmt.Fprintf(b, " %d | %s | %s |\n", len(r.Outcomes[failures[0]]), r.Measured, loads(r))
	}
	fmt.Fprint(b, targets(all)+reasons)
	for _, failure := range failures {
		phases := slices.DeleteFunc(slices.Clone(phases), func(phase string) bool { return phase == podEnd && failure != deleted })
		fmt.Fprintf(b, "\n## %s\n\nSeconds of each phase, medians.\n\n| recovery | %s |\n|---|%s\n", titles[failure], strings.Join(phases, " | "), strings.Repeat("---:|", len(phases)))
		for _, r := range all {
			fmt.Fprintf(b, "| %s |", r.Way)
			for _, phase := range phases {
				fmt.Fprintf(b, " %s |", median(r.Outcomes[failure], phase))
			}
			fmt.Fprintln(b)
		}
	}
	fmt.Fprint(b, "\n"+remarks)
	return b.String()
}

// targets compares how long a warm start and the other ways take to recover from a killed process.
func targets(all []result) string {
	median := func(ways ...string) (least time.Duration) {
		for _, r := range all {
			totals := totalsOf(r.Outcomes[failures[0]])
			if slices.Contains(ways, r.Way) && len(totals) > 0 && (least == 0 || middle(totals) < least) {
				least = middle(totals)
			}
		}
		return least
	}
	warm := median(warmStart)
	b := &strings.Builder{}
	fmt.Fprint(b, "\n| target for a killed process | measured |\n|---|---|\n")
	for _, target := range []struct {
		what  string
		ways  []string
		times float64
	}{
		{"torchrun alone, at the better interval", []string{torchrunDefault, torchrunBest}, 2}, {"Recreate", []string{recreate}, 5},
	} {
		other, verdict := median(target.ways...), "not measured"
		if warm > 0 && other > 0 {
			ratio := other.Seconds() / warm.Seconds()
			verdict = fmt.Sprintf("%.1f times, %s", ratio, map[bool]string{true: "met", false: "missed"}[ratio >= target.times])
		}
		fmt.Fprintf(b, "| warm start is %.0f times as fast as %s | %s |\n", target.times, target.what, verdict)
	}
	return b.String()
}

// loads returns the lowest and the highest load of the machine before the failures.
func loads(r result) string {
	var all []float64
	for _, outcomes := range r.Outcomes {
		for _, o := range outcomes {
			all = append(all, o.Load)
		}
	}
	return fmt.Sprintf("%.0f-%.0f", slices.Min(all), slices.Max(all))
}

// totalsOf returns the totals of the training jobs that continued, in ascending order.
func totalsOf(all []outcome) (totals []time.Duration) {
	for _, o := range all {
		if o.Total > 0 {
			totals = append(totals, o.Total)
		}
	}
	slices.Sort(totals)
	return totals
}

// span returns the median and the extremes of the totals.
func span(all []outcome) string {
	totals := totalsOf(all)
	lost := len(all) - len(totals)
	if len(all) == 0 {
		return "-"
	}
	if len(totals) == 0 {
		return fmt.Sprintf("more than %.0f", patience.Seconds())
	}
	if len(all) == 1 {
		return fmt.Sprintf("%.2f (once)", totals[0].Seconds())
	}
	text := fmt.Sprintf("%.2f (%.2f-%.2f)", middle(totals).Seconds(), totals[0].Seconds(), totals[len(totals)-1].Seconds())
	if lost > 0 {
		text += fmt.Sprintf(", %d of %d more than %.0f", lost, len(all), patience.Seconds())
	}
	return text
}

// median returns the median of a phase, or "-" if it was not measured separately.
func median(all []outcome, phase string) string {
	var values []time.Duration
	for _, o := range all {
		if d, known := o.Phases[phase]; known {
			values = append(values, d)
		}
	}
	if len(values) == 0 {
		return "-"
	}
	slices.Sort(values)
	return fmt.Sprintf("%.2f", middle(values).Seconds())
}

func middle(sorted []time.Duration) time.Duration {
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}
