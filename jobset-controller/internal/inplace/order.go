package inplace

import (
	"cmp"
	"slices"
	"strings"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/coordination"
)

// gate is what a replicatedJob waits for before its Jobs start. Entries with the same gate start together and form one step; those
// with different gates never wait for each other, but for the order of the steps:
//
//	fewest completions first   nothing that can start waits for something that has to finish
//	then the shortest way      a step comes after all that it depends on
//	then the order of the spec
//
// Entries without agents open gates like all others; they are only not counted.
type gate struct {
	completions int    // on the longest way to it: how often a replicatedJob must have completed
	depth       int    // likewise: how many gates lie on it
	key         string // what it waits for itself
}

// gatesOf the spec.replicatedJobs, in order.
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

// gatesInOrder: each replicatedJob waits for the one before, and so for every completion that a rule asks for on the way.
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

// gateOf looks dependencies up among earlier replicatedJobs; the API allows no others.
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

// order numbers the steps of the stages, of which counted says to which replicatedJobs they belong.
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
