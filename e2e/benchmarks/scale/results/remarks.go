package results

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Remarks below the headline table, which readers need to interpret it.

// aboutPublished names the versions of the published controller that took part.
func (p *page) aboutPublished() {
	versions := map[string]bool{}
	for _, r := range p.all {
		if r.upstream() {
			versions[r.Machine.Versions[JobSet]] = true
		}
	}
	if len(versions) > 0 {
		p.line("\n\"Upstream JobSet\" is the JobSet controller of kubernetes-sigs, %s, with its defaults and webhooks, instead of our manager. Everything else is the same.", strings.Join(slices.Sorted(maps.Keys(versions)), ", "))
		p.line("With \"in place\", the JobSet has `restartStrategy: InPlaceRestart`. The agents of the upstream project are simulated: their calls to the API server are real, but the agents")
		p.line("share one watch of the JobSet, whereas each real agent has its own, and they start without delay. They repeat calls that fail. With 5,000 workers, thousands of these calls")
		p.line("timed out at first, because the API server shares two cores with everything else.")
	}
}

// aboutMachines names the rows that were measured on a different machine than the Recreate result that they are compared with.
func (p *page) aboutMachines() {
	var apart []string
	for _, r := range p.all {
		what, here := outageWords[r.Scenario]
		base, found := p.find(r.Scenario, Recreate, r.Workers)
		if here && found && r.JobSets == 1 && r.Machine.Processor != base.Machine.Processor {
			apart = append(apart, fmt.Sprintf("* %d workers, %s, %s (%s, Recreate %s)", r.Workers, r.name(), what, r.Machine.Processor, base.Machine.Processor))
		}
	}
	if len(apart) > 0 {
		p.line("\nThese rows were measured on a different processor than the Recreate row that they are compared with, so x compares two machines:\n%s", strings.Join(apart, "\n"))
	}
}

// aboutStores names the rows that were measured before the store had the chart's settings.
func (p *page) aboutStores() {
	scenarios := map[string][]string{} // by size and way
	var groups []string
	for _, r := range p.all {
		group := fmt.Sprintf("* %d workers, %s", r.Workers, r.name())
		if r.Machine.Versions["redis"] == "" || slices.Contains(scenarios[group], r.Scenario) {
			continue
		}
		if scenarios[group] == nil {
			groups = append(groups, group)
		}
		scenarios[group] = append(scenarios[group], r.Scenario)
	}
	if len(groups) == 0 {
		return
	}
	p.line("\nThese results are from an earlier version of the benchmark, whose store was redis-server without TLS, users or an append-only file:\n")
	for _, group := range groups {
		p.line("%s: %s", group, strings.Join(scenarios[group], ", "))
	}
}

// outageWords describe the failure in the scenarios that are compared.
var outageWords = map[string]string{Failure: "a killed process", Pod: "a deleted pod"}

// aboutEarlier names the rows with runs from several invocations.
func (p *page) aboutEarlier() {
	for _, r := range p.all {
		if what, here := outageWords[r.Scenario]; here && r.Earlier > 0 {
			p.line("\nOf the %d runs of %s with %d workers, %s, %d are from an earlier invocation.", len(r.Runs), what, r.Workers, r.name(), r.Earlier)
		}
	}
}
