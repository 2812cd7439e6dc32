package results

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// target is one of the project's targets that this benchmark measures.
type target struct {
	what   string
	bound  float64
	more   bool   // the value must be at least the bound, not at most
	reason string // why a small machine may miss it
	value  func(p *page) float64
	size   int // the number of workers, if the target is not for setFor
}

func (t target) want() string {
	switch {
	case t.more:
		return fmt.Sprintf(">= %v", t.bound)
	case t.bound == 0:
		return "0"
	}
	return fmt.Sprintf("<= %v", t.bound)
}

// setFor is the size for which most targets are set. One target is set for a larger size.
const setFor, larger = 5000, 10_000

// comparable returns the measured sizes up to setFor, largest first.
func (p *page) comparable() []int {
	var all []int
	for _, r := range p.all {
		if r.JobSets == 1 && r.Workers <= setFor && !slices.Contains(all, r.Workers) {
			all = append(all, r.Workers)
		}
	}
	slices.Sort(all)
	slices.Reverse(all)
	return all
}

// Reasons why a small machine may miss a target.
const (
	shared      = "the agents of all workers, the store and the API server share the same cores; in a real cluster, each node has its own"
	controllers = "kube-controller-manager processes all pods of the JobSet after a loss, on the same cores; see the next row"
	reports     = "the reports of all kubelets pass through one API server on the same cores"
	asAbove     = "as above"
	watches     = "each watch, one per kind, is renewed after 5 to 10 minutes, and these requests are counted"
	plainTCP    = "measured with TLS; the target was set without"
)

// targets returns the targets with the values measured at a size.
func targets(size int) []target {
	return slices.Concat(processTargets(size), podTargets(size), costTargets(size))
}

// processTargets returns the targets for killed processes.
func processTargets(size int) []target {
	return []target{
		{what: "from publishing the order until 99 % of the agents have it, s", bound: 0.1, reason: shared, value: func(p *page) float64 {
			r, _ := p.find(Failure, Exec, size)
			return r.median(func(run Run) float64 { return moment(run, OrderP99) - moment(run, Ordered) })
		}},
		{what: "group restart, exec driver, s", bound: 0.35, reason: shared, value: outage(Failure, Exec, kubeletDefault, size)},
		{what: "group restart, exec driver, s", bound: 0.8, reason: shared, value: outage(Failure, Exec, kubeletDefault, larger), size: larger},
		{what: "the same, repeated within ten minutes (the slowest), s", bound: 0.5, reason: shared, value: slowest(Exec, kubeletDefault, size)},
		{what: "ten processes killed at once, exec driver, against one, x", bound: 1.5, reason: shared, value: against(Ten, Exec, Failure, Exec, size)},
		{what: "group restart, CRI driver, s", bound: 2.5, reason: reports, value: outage(Failure, CRI, kubeletDefault, size)},
		{what: "the same, repeated, kubelet period-1s (the slowest), s", bound: 3.5, reason: asAbove, value: slowest(CRI, "period-1s", size)},
		{what: "group restart, CRI driver, kubelet evented, s", bound: 0.8, reason: asAbove, value: outage(Failure, CRI, "evented", size)},
		{what: "Recreate against the exec driver, x", bound: 200, more: true, reason: shared, value: against(Failure, Recreate, Failure, Exec, size)},
		{what: "Recreate against the CRI driver, x", bound: 50, more: true, reason: asAbove, value: against(Failure, Recreate, Failure, CRI, size)},
	}
}

// podTargets are the targets for deleted pods.
func podTargets(size int) []target {
	return []target{
		{what: "deleted pod, exec driver, s", bound: 1.3, reason: shared, value: outage(Pod, Exec, kubeletDefault, size)},
		{what: "the same, kube-controller-manager at the lowest priority, s", bound: 1.3, reason: shared, value: outage(PodAlone, Exec, kubeletDefault, size)},
		{what: "a hundred pods deleted at once, exec driver, s", bound: 5, reason: shared, value: outage(Rack, Exec, kubeletDefault, size)},
		{what: "the same, kube-controller-manager at the lowest priority, s", bound: 5, reason: shared, value: outage(RackAlone, Exec, kubeletDefault, size)},
		{what: "deleted pod, CRI driver: Recreate against it, x", bound: 1, more: true, value: against(Pod, Recreate, Pod, CRI, size)},
		{what: "deleted pod with spares against a killed process, x", bound: 1.3, reason: shared, value: against(Pod, Spares, Failure, Spares, size)},
		{what: "the same, counted from the evidence that the pod has ended, x", bound: 1.3, reason: controllers, value: fromEvidence(Pod, size)},
		{what: "the same, kube-controller-manager at the lowest priority, x", bound: 1.3, reason: shared, value: fromEvidence(PodAlone, size)},
	}
}

// fromEvidence returns the median recovery time counted from the evidence that a deleted pod has ended, divided by the median recovery time
// after a killed process.
func fromEvidence(scenario string, size int) func(*page) float64 {
	return func(p *page) float64 {
		killed, _ := p.find(Failure, Spares, size)
		deleted, _ := p.find(scenario, Spares, size)
		return deleted.median(func(run Run) float64 { return run.Seconds - moment(run, Evidence) }) / killed.median(seconds)
	}
}

// costTargets are the targets for CPU, calls and memory.
func costTargets(size int) []target {
	idle := func(value func(Run) float64) func(*page) float64 {
		return func(p *page) float64 {
			r, _ := p.find(Steady, Exec, size)
			return r.median(value)
		}
	}
	return []target{
		{what: "store CPU for one worker and restart, µs", bound: 45, reason: plainTCP, value: func(p *page) float64 {
			r, found := p.find(Failure, Exec, size)
			if !found {
				return math.NaN()
			}
			return p.restartCPU(r, Store) * 1e6
		}},
		{what: "store reads per second by idle agents: one per 15 s and agent", bound: math.Floor(float64(size) / 15), value: idle(func(run Run) float64 { return run.Usage.Store["fcall"] / run.Usage.Seconds })},
		{what: "total API calls of the idle manager", reason: watches, value: idle(func(run Run) float64 { return run.Usage.Calls["manager"] })},
		{what: "memory of the manager, maximum of all runs, MiB", bound: 256, value: memory("manager", size)},
		{what: "memory of the orchestrator, maximum of all runs, MiB", bound: 256, value: memory("orchestrator", size)},
	}
}

func moment(run Run, name string) float64 {
	for _, p := range run.Phases {
		if p.Name == name {
			return p.At
		}
	}
	return math.NaN()
}

func seconds(run Run) float64 { return run.Seconds }

// median returns the median of a value over all runs, or NaN if no run has it.
func (r Result) median(of func(Run) float64) float64 {
	s := r.each(of)
	if s.N == 0 {
		return math.NaN()
	}
	return s.Median
}

// outage returns the median time of a scenario.
func outage(scenario, way, kubelet string, size int) func(*page) float64 {
	return func(p *page) float64 {
		for _, r := range p.of(scenario, size) {
			if r.Way == way && r.Kubelet == kubelet {
				return r.median(seconds)
			}
		}
		return math.NaN()
	}
}

// against returns the median time of one scenario and way, divided by that of another.
func against(scenario, way, otherScenario, otherWay string, size int) func(*page) float64 {
	return func(p *page) float64 {
		one, _ := p.find(scenario, way, size)
		other, _ := p.find(otherScenario, otherWay, size)
		return one.median(seconds) / other.median(seconds)
	}
}

// slowest returns the longest outage in the repeats at a size, except for the first failure.
func slowest(way, kubelet string, largest int) func(*page) float64 {
	return func(p *page) float64 {
		worst := math.NaN()
		for _, r := range p.of(Repeat, largest) {
			if r.Way != way || r.Kubelet != kubelet || r.Variant != OthersFail {
				continue
			}
			for i, run := range r.Runs {
				if i > 0 && !(worst >= run.Seconds) {
					worst = run.Seconds
				}
			}
		}
		return worst
	}
}

// memory returns the peak memory of one of our programs with the given number of workers.
func memory(program string, largest int) func(*page) float64 {
	return func(p *page) float64 {
		most := math.NaN()
		for _, r := range p.all {
			if r.Workers != largest || r.upstream() {
				continue
			}
			for _, run := range r.Runs {
				if v := run.Usage.MemoryMiB[program]; !(most >= v) {
					most = v
				}
			}
		}
		return most
	}
}

// verdict returns a phrase that says whether a value meets the target, or by how much it misses the target and why.
func (t target) verdict(value float64) string {
	met := value <= t.bound
	if t.more {
		met = value >= t.bound
	}
	switch {
	case math.IsNaN(value):
		return "not measured"
	case met:
		return "met"
	}
	verdict := "missed"
	if t.bound != 0 {
		verdict = fmt.Sprintf("missed: %s times the target", number(value/t.bound))
	}
	if t.reason != "" {
		verdict += ": " + t.reason
	}
	return verdict
}

func (p *page) targets() {
	sizes := p.comparable()
	if len(sizes) == 0 {
		return
	}
	p.section("Against the targets")
	p.line("The targets are for %d workers, except for one. Each row uses the largest group, up to that size, in which the value was measured.\n", setFor)
	p.header("what", "target", "workers", "measured", "")
	for i := range targets(sizes[0]) {
		size := sizes[0]
		for _, s := range sizes {
			if !math.IsNaN(targets(s)[i].value(p)) {
				size = s
				break
			}
		}
		t := targets(size)[i]
		if t.size > 0 {
			size = t.size
		}
		value := t.value(p)
		p.row([]string{t.what, t.want(), workersOf(value, size), number(value), t.verdict(value)})
	}
}

func workersOf(value float64, size int) string {
	if math.IsNaN(value) {
		return "-"
	}
	return strconv.Itoa(size)
}
