// Package grace parses and applies grace periods: durations in annotations and specs, with a default and a maximum. No other package parses
// durations set by users, so all programs accept the same values and report the same errors. The package is pure: the current time is an
// argument.
package grace

import (
	"fmt"
	"strings"
	"time"
)

// Rule defines the allowed values of a grace period.
type Rule struct {
	Name    string        // name of the annotation or field, for errors
	Default time.Duration // used when nothing is set
	Minimum time.Duration // smaller values are rejected
	Maximum time.Duration // larger values are clipped; 0 means no maximum
}

// Parse parses a duration in Go's syntax, such as "60s" or "1m30s". It returns the default if the value is empty, the maximum if the
// value is larger than that, and the default with an error if the value is invalid.
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

// Deadline is the end of a period that starts at Start. Both times must come from the same clock; use one with a monotonic reading if the
// wall clock may jump.
type Deadline struct {
	Start  time.Time
	Period time.Duration
}

// Remaining returns the time until the deadline. It is never negative.
func (d Deadline) Remaining(now time.Time) time.Duration { return max(0, d.Period-now.Sub(d.Start)) }

// Passed reports whether the deadline has passed.
func (d Deadline) Passed(now time.Time) bool { return d.Remaining(now) == 0 }
