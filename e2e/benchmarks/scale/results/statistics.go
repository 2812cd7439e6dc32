package results

import (
	"fmt"
	"math"
	"slices"
)

// Statistic is a median with its spread.
type Statistic struct {
	N                   int
	Median, Least, Most float64
}

// Of returns the statistic of values in any order. Without values it is the zero Statistic.
func Of(values []float64) Statistic {
	n := len(values)
	if n == 0 {
		return Statistic{}
	}
	s := slices.Sorted(slices.Values(values))
	return Statistic{N: n, Median: (s[(n-1)/2] + s[n/2]) / 2, Least: s[0], Most: s[n-1]}
}

// Quantile returns the smallest value that the given share of the values does not exceed, or NaN without values.
func Quantile(values []float64, share float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(values))
	return s[min(len(s)-1, max(0, int(math.Ceil(share*float64(len(s))))-1))]
}

// String returns the median, with the bounds if there is more than one value.
func (s Statistic) String() string {
	switch {
	case s.N == 0:
		return "-"
	case s.N == 1:
		return number(s.Median)
	}
	return fmt.Sprintf("%s (%s-%s)", number(s.Median), number(s.Least), number(s.Most))
}

// number formats a value with three significant digits, or with all digits before the decimal point.
func number(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v):
		return "-"
	case a == 0:
		return "0"
	case a < 0.01:
		return fmt.Sprintf("%.4f", v)
	case a < 1:
		return fmt.Sprintf("%.3f", v)
	case a < 10:
		return fmt.Sprintf("%.2f", v)
	case a < 100:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

// each returns the statistic of a value over all runs.
func (r Result) each(of func(Run) float64) Statistic {
	var values []float64
	for _, run := range r.Runs {
		if v := of(run); !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	return Of(values)
}

// Outage returns how long at least one worker was not running.
func (r Result) Outage() Statistic { return r.each(func(run Run) float64 { return run.Seconds }) }

// Phase returns when a phase ended. It is the zero Statistic if no run has that phase.
func (r Result) Phase(name string) Statistic {
	return r.each(func(run Run) float64 {
		for _, p := range run.Phases {
			if p.Name == name {
				return p.At
			}
		}
		return math.NaN()
	})
}

// counted formats the median of a count.
func (r Result) counted(of func(Usage) float64) string {
	s := r.each(func(run Run) float64 { return of(run.Usage) })
	if s.N == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f", s.Median)
}

// used formats the median of an amount.
func (r Result) used(of func(Usage) float64) string {
	s := r.each(func(run Run) float64 { return of(run.Usage) })
	if s.N == 0 {
		return "-"
	}
	return number(s.Median)
}
