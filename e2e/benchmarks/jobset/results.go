package main

import (
	"fmt"
	"slices"
	"strings"
)

// result is one phase of one manager in one round.
type result struct {
	Manager string `json:"manager"`
	Shape   shape  `json:"shape"`
	Round   int    `json:"round"`
	Phase   string `json:"phase"`
	Usage   usage  `json:"usage"`
	// Requests counts the manager's requests by verb and resource, see readRequests.
	Requests map[string]int `json:"requests"`
	span
}

func seconds(r result) float64 { return r.Usage.Seconds }

// results holds the measurements for each shape, over any number of rounds.
type results []result

// shapes returns the shapes in the order in which they were measured.
func (r results) shapes() []shape {
	var all []shape
	for _, one := range r {
		if !slices.Contains(all, one.Shape) {
			all = append(all, one.Shape)
		}
	}
	return all
}

func (r results) of(s shape) results {
	return slices.DeleteFunc(slices.Clone(r), func(one result) bool { return one.Shape != s })
}

// rounds returns a phrase with the number of rounds, or "" for a single one.
func (r results) rounds() string {
	most := 0
	for _, one := range r {
		most = max(most, one.Round+1)
	}
	if most < 2 {
		return ""
	}
	return fmt.Sprintf(", medians of %d rounds", most)
}

func phaseNames() []string {
	var names []string
	for _, p := range (&stage{}).phases() {
		names = append(names, p.name)
	}
	return names
}

// values returns a manager's sum over the given phases, for each round.
func (r results) values(manager string, value func(result) float64, phases ...string) []float64 {
	byRound := map[int]float64{}
	for _, one := range r {
		if one.Manager == manager && slices.Contains(phases, one.Phase) {
			byRound[one.Round] += value(one)
		}
	}
	var all []float64
	for round := range len(byRound) {
		all = append(all, byRound[round])
	}
	return all
}

func (r results) median(manager string, value func(result) float64, phases ...string) float64 {
	all := slices.Sorted(slices.Values(r.values(manager, value, phases...)))
	n := len(all)
	if n == 0 {
		return 0
	}
	return (all[(n-1)/2] + all[n/2]) / 2
}

// pair formats the values of both managers side by side.
func (r results) pair(format string, value func(result) float64, phases ...string) string {
	return fmt.Sprintf(format+" / "+format, r.median(ours, value, phases...), r.median(published, value, phases...))
}

// ratio returns our time divided by the published manager's, or 0 if that was not measured.
func (r results) ratio(phases ...string) float64 {
	other := r.median(published, seconds, phases...)
	if other == 0 {
		return 0
	}
	return r.median(ours, seconds, phases...) / other
}

// each lists the seconds of every round.
func (r results) each(manager, phase string) string {
	var texts []string
	for _, value := range r.values(manager, seconds, phase) {
		texts = append(texts, fmt.Sprintf("%.1f", value))
	}
	return strings.Join(texts, ", ")
}
