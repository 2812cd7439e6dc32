package results

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

func (p *page) introduce() {
	p.line("# Restart of thousands of workers")
	p.line("\nA worker of a large JobSet fails. This page shows how long it takes until all workers are running again, for each kind of recovery on the same")
	p.line("cluster. [Nodes are simulated, programs are real](#how-it-was-measured), and everything shares one small machine. So compare ratios rather than seconds.")
}

// method describes the measurement.
func (p *page) method() {
	p.section("How it was measured")
	p.line("`make bench-scale` writes this page. One JobSet runs with exclusive topology in five node pools, with one worker on each node. The benchmark kills a")
	p.line("process or deletes a pod, and measures the time until the last worker's program is running. With spares, the JobSet has no exclusive topology, an")
	p.line("additional node in each pool, and two [spares](../spares.md).\n")
	p.line("* **Real:** API server, etcd, Job controller, scheduler, our manager with its webhooks, and our orchestrator. Valkey has the settings of the chart: TLS, a")
	p.line("  user for each group, and an append-only file. For each worker, the agent's core and store client are also real, with their own connections. From")
	p.line("  9,000 workers on, a hundred agents share one connection for calls.")
	p.line("* **Simulated:** nodes, kubelets, the container runtime and processes, in one program, with [times measured on a real node](#what-is-simulated).\n")
	p.line("Values are medians, with the minimum and the maximum of the runs in parentheses. Times are in seconds, from the failure. The page shows the newest result")
	p.line("of each kind in [results.json](scale/results.json): `make bench-scale SIZES=500 SCALEFLAGS=\"-runs 1 -scenarios failure\"` runs a short version.")
	p.machines()
	p.aboutMachines()
	p.aboutStores()
	p.aboutPublished()
	p.aboutEarlier()
}

func (p *page) machines() {
	seen := map[string]bool{}
	least, most := -1.0, 0.0
	var first, last time.Time
	for _, r := range p.all {
		m := r.Machine
		if least < 0 || m.Waiting < least {
			least = m.Waiting
		}
		most = max(most, m.Waiting)
		if first.IsZero() || r.At.Before(first) {
			first = r.At
		}
		if r.At.After(last) {
			last = r.At
		}
		var versions []string
		for _, name := range slices.Sorted(maps.Keys(m.Versions)) {
			if name == JobSet {
				continue // its version is mentioned where it took part
			}
			versions = append(versions, name+" "+m.Versions[name])
		}
		seen[fmt.Sprintf("%d cores (%s), %.0f GiB, Linux %s; %s", m.Cores, m.Processor, m.MemoryGiB, m.Kernel, strings.Join(versions, ", "))] = true
	}
	p.line("")
	for _, m := range slices.Sorted(maps.Keys(seen)) {
		p.line("* %s", m)
	}
	if !last.IsZero() {
		p.line("* %s; the load before the runs, caused by other work on the same machine, was %.1f to %.1f", dates(first, last), least, most)
	}
}

func dates(first, last time.Time) string {
	const day = "2006-01-02"
	if first.Format(day) == last.Format(day) {
		return first.Format(day)
	}
	return first.Format(day) + " to " + last.Format(day)
}
