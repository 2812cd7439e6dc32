package inplace

import (
	"cmp"
	"slices"
	"strings"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/coordination"
)

// gate is what a replicatedJob waits for before its Jobs start. ReplicatedJobs with the same gate start together and form one step.
// Those with different gates wait for each other only because of the order of the steps:
//
//	fewest completions first   nothing that can start waits for something that must finish
//	then the shortest path     a step comes after everything that it depends on
//	then the order of the spec
//
// ReplicatedJobs without agents open gates like all others; they are only not counted.
type gate struct {
	completions int    // on the longest path to it: how often a replicatedJob must have completed
	depth       int    // on that path: how many gates it has
	key         string // what it waits for itself
}

// gatesOf returns the gates of spec.replicatedJobs, in order.
func gatesOf(spec *v1alpha2.JobSetSpec) []gate {
	if policy.InOrder(spec) {
		return gatesInOrder(spec)
	}
	gates := make([]gate, len(spec.ReplicatedJobs))
	byName := make(map[string]gate, len(gates))
	for i := range spec.ReplicatedJobs {
		rjob := &spec.ReplicatedJobs[i]
		gates[i] = gateOf(rjob.DependsOn, byName)
		byName[rjob.Name] = gates[i]
	}
	return gates
}

// gatesInOrder returns the gates of an ordered start: each replicatedJob waits for the previous one, and so for every earlier
// completion that a rule requires.
func gatesInOrder(spec *v1alpha2.JobSetSpec) []gate {
	gates := make([]gate, len(spec.ReplicatedJobs))
	completions := 0
	for i, wait := range policy.StartupWaits(spec) {
		gates[i] = gate{completions: completions, depth: i}
		if wait == v1alpha2.WaitForSucceeded {
			completions++
		}
	}
	return gates
}

// gateOf looks up dependencies among earlier replicatedJobs, because the API allows no others.
func gateOf(dependencies []v1alpha2.DependsOn, earlier map[string]gate) gate {
	var g gate
	var parts []string
	for _, d := range dependencies {
		before := earlier[d.Name]
		if d.Status == v1alpha2.DependencyComplete {
			before.completions++
		}
		g.completions = max(g.completions, before.completions)
		g.depth = max(g.depth, before.depth+1)
		parts = append(parts, d.Name+"="+string(d.Status))
	}
	slices.Sort(parts)
	g.key = strings.Join(parts, " ")
	return g
}

// order numbers the steps of the stages. counted has the replicatedJob of each stage.
func order(stages []coordination.Stage, gates []gate, counted []int) {
	var steps []gate
	for _, rjob := range counted {
		if !slices.Contains(steps, gates[rjob]) {
			steps = append(steps, gates[rjob])
		}
	}
	slices.SortStableFunc(steps, func(a, b gate) int {
		return cmp.Or(cmp.Compare(a.completions, b.completions), cmp.Compare(a.depth, b.depth))
	})
	for i, rjob := range counted {
		stages[i].Step = int64(slices.Index(steps, gates[rjob]))
	}
}
