// Package grace reads and applies grace periods: durations that users write into annotations and specs, with a default
// and a ceiling. It is the only place that parses such durations, so that every program accepts the same spellings and
// refuses the rest with the same words. It is pure: the time is an argument.
package grace

import (
	"fmt"
	"strings"
	"time"
)

// Rule is what one named grace period may be.
type Rule struct {
	Name    string        // the annotation or field, as the user writes it; part of every error
	Default time.Duration // used when nothing is set
	Minimum time.Duration // a smaller value is refused
	Maximum time.Duration // a larger value is clipped; 0: no ceiling
}

// Parse reads a value in Go's duration syntax ("60s", "1m30s"). Nothing set gives the default; a value above the ceiling
// gives the ceiling. The error names the rule, the value and an example; the default is returned beside it.
func (r Rule) Parse(value string) (time.Duration, error) {
	value = strings.TrimSpace(value)
	if value == "" {
		return r.clip(r.Default), nil
	}
	d, err := time.ParseDuration(value)
	if err != nil {
		return r.clip(r.Default), fmt.Errorf("%s: %q is not a duration such as \"60s\" or \"1m30s\"", r.Name, value)
	}
	if d < r.Minimum {
		return r.clip(r.Default), fmt.Errorf("%s: %q is below the minimum of %s", r.Name, value, r.Minimum)
	}
	return r.clip(d), nil
}

func (r Rule) clip(d time.Duration) time.Duration {
	if r.Maximum > 0 {
		return min(d, r.Maximum)
	}
	return d
}

// Deadline is the end of a period that began at Start. Both instants come from the same clock; use one with a monotonic
// reading where the wall clock may jump.
type Deadline struct {
	Start  time.Time
	Period time.Duration
}

// Remaining is how long is left at `now`, never negative.
func (d Deadline) Remaining(now time.Time) time.Duration { return max(0, d.Period-now.Sub(d.Start)) }

// Passed tells whether the period is over at `now`.
func (d Deadline) Passed(now time.Time) bool { return d.Remaining(now) == 0 }
