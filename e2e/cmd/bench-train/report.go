package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// titles of the failures.
var titles = map[string]string{"killed": "A process is killed", "hung": "A rank hangs", "deleted": "A pod is deleted"}

// page about results.
func page(all []result) string {
	b := &strings.Builder{}
	fmt.Fprintf(b, introduction, workers, hangTimeout)
	fmt.Fprint(b, "\n## Seconds to the next step\n\n| answer |")
	for _, failure := range failures {
		fmt.Fprintf(b, " %s |", strings.ToLower(titles[failure]))
	}
	fmt.Fprintf(b, " measured |\n|---|%s---|\n", strings.Repeat("---:|", len(failures)))
	for _, r := range all {
		fmt.Fprintf(b, "| %s |", r.Way)
		for _, failure := range failures {
			fmt.Fprintf(b, " %s |", span(r.Outcomes[failure]))
		}
		fmt.Fprintf(b, " %s |\n", r.Measured)
	}
	for _, failure := range failures {
		fmt.Fprintf(b, "\n## %s\n\nSeconds of each phase, medians.\n\n| answer | %s |\n|---|%s\n", titles[failure], strings.Join(phases, " | "), strings.Repeat("---:|", len(phases)))
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

// span is the median and the extremes of the totals.
func span(all []outcome) string {
	var totals []time.Duration
	lost := 0
	for _, o := range all {
		if o.Total == 0 {
			lost++
			continue
		}
		totals = append(totals, o.Total)
	}
	if len(totals) == 0 {
		return fmt.Sprintf("more than %.0f", patience.Seconds())
	}
	slices.Sort(totals)
	if len(all) == 1 {
		return fmt.Sprintf("%.2f (once)", totals[0].Seconds())
	}
	text := fmt.Sprintf("%.2f (%.2f-%.2f)", middle(totals).Seconds(), totals[0].Seconds(), totals[len(totals)-1].Seconds())
	if lost > 0 {
		text += fmt.Sprintf(", %d of %d more than %.0f", lost, len(all), patience.Seconds())
	}
	return text
}

// median of a phase, "-" where it was not told apart.
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
