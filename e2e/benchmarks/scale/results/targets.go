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
	want   string
	bound  float64
	more   bool // the value must be at least the bound, not at most
	value  func(p *page) float64
	reason string // why a small machine may miss it
}

// setFor is the size for which the targets are set.
const setFor = 5000

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

// targets returns the targets with the values measured at a size.
func targets(size int) []target {
	outage := func(scenario, way, kubelet, variant string) func(*page) float64 {
		return func(p *page) float64 {
			for _, r := range p.of(scenario, size) {
				if r.Way == way && r.Kubelet == kubelet && r.Variant == variant {
					return r.Outage().Median
				}
			}
			return math.NaN()
		}
	}
	against := func(way string) func(*page) float64 {
		return func(p *page) float64 {
			base, _ := p.find(Failure, Recreate, size)
			is, _ := p.find(Failure, way, size)
			if len(base.Runs) == 0 || len(is.Runs) == 0 {
				return math.NaN()
			}
			return base.Outage().Median / is.Outage().Median
		}
	}
	const shared = "the agents of all workers, the store and the API server share the same cores; in a real cluster, each node has its own"
	return []target{
		{"from publishing the order until 99 % of the agents have it, s", "<= 0.1", 0.1, false, func(p *page) float64 {
			r, ok := p.find(Failure, Exec, size)
			if !ok {
				return math.NaN()
			}
			return r.each(func(run Run) float64 { return moment(run, OrderP99) - moment(run, Ordered) }).Median
		}, shared},
		{"group restart, exec driver, s", "<= 0.5", 0.5, false, outage(Failure, Exec, kubeletDefault, ""), shared},
		{"the same, repeated within ten minutes (the slowest), s", "<= 0.5", 0.5, false, slowest(Exec, kubeletDefault, size), shared},
		{"group restart, CRI driver, s", "<= 2.5", 2.5, false, outage(Failure, CRI, kubeletDefault, ""), "the reports of all kubelets pass through one API server on the same cores"},
		{"the same, repeated, kubelet period-1s (the slowest), s", "<= 3.5", 3.5, false, slowest(CRI, "period-1s", size), "as above"},
		{"group restart, CRI driver, kubelet evented, s", "<= 0.8", 0.8, false, outage(Failure, CRI, "evented", ""), "as above"},
		{"exec driver against Recreate, x", ">= 200", 200, true, against(Exec), shared},
		{"CRI driver against Recreate, x", ">= 50", 50, true, against(CRI), "as above"},
		{"deleted pod, exec driver, against Recreate, x", ">= 1", 1, true, podAgainst(Exec, size), ""},
		{"deleted pod with spares against a killed process, x", "<= 1.3", 1.3, false, func(p *page) float64 {
			return p.against(size, func(run Run) float64 { return run.Seconds })
		}, shared},
		{"the same, counted from the evidence that the pod has ended, x", "<= 1.3", 1.3, false, func(p *page) float64 {
			return p.against(size, func(run Run) float64 { return run.Seconds - moment(run, Evidence) })
		}, shared},
		{"deleted pod, CRI driver, against Recreate, x", ">= 1", 1, true, podAgainst(CRI, size), ""},
		{"store reads per second by idle agents", fmt.Sprintf("<= N/15 = %.0f", float64(size)/15), float64(size) / 15, false, func(p *page) float64 {
			r, ok := p.find(Steady, Exec, size)
			if !ok {
				return math.NaN()
			}
			return r.each(func(run Run) float64 { return run.Usage.Store["fcall"] / run.Usage.Seconds }).Median
		}, ""},
		{"total API calls of the idle manager", "0", 0, false, func(p *page) float64 {
			r, ok := p.find(Steady, Exec, size)
			if !ok {
				return math.NaN()
			}
			return r.each(func(run Run) float64 { return run.Usage.Calls["manager"] }).Median
		}, "each watch, one per kind, is renewed after 5 to 10 minutes, and these requests are counted"},
		{"memory of the manager, maximum of all runs, MiB", "<= 256", 256, false, memory("manager", size), ""},
		{"memory of the orchestrator, maximum of all runs, MiB", "<= 256", 256, false, memory("orchestrator", size), ""},
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

func podAgainst(way string, largest int) func(*page) float64 {
	return func(p *page) float64 {
		base, _ := p.find(Pod, Recreate, largest)
		is, _ := p.find(Pod, way, largest)
		if len(base.Runs) == 0 || len(is.Runs) == 0 {
			return math.NaN()
		}
		return base.Outage().Median / is.Outage().Median
	}
}

// against returns the median of the given time after the loss of a pod with spares, divided by that of a killed process.
func (p *page) against(size int, of func(Run) float64) float64 {
	killed, _ := p.find(Failure, Spares, size)
	deleted, _ := p.find(Pod, Spares, size)
	if len(killed.Runs) == 0 || len(deleted.Runs) == 0 {
		return math.NaN()
	}
	return deleted.each(of).Median / killed.Outage().Median
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

// memory returns the peak memory of a program with the given number of workers.
func memory(program string, largest int) func(*page) float64 {
	return func(p *page) float64 {
		most := math.NaN()
		for _, r := range p.all {
			if r.Workers != largest {
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

// verdict says whether a value meets the target, or by how much it misses it and why.
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
	p.line("The targets are for %d workers. Each row uses the largest group, up to that size, in which the value was measured.\n", setFor)
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
		value := t.value(p)
		p.row([]string{t.what, t.want, workersOf(value, size), number(value), t.verdict(value)})
	}
}

func workersOf(value float64, size int) string {
	if math.IsNaN(value) {
		return "-"
	}
	return strconv.Itoa(size)
}
