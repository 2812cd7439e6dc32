package results

import "fmt"

// fixed is the part of the duration of a restart that does not depend on CPU, in seconds: the time that the simulated processes, containers and
// kubelets take.
var fixed = map[string]float64{Exec: 0.013, Spares: 0.013, CRI: 1.3}

// budget shows the CPU time of each part, and the restart times that it predicts.
func (p *page) budget() {
	var rows [][]string
	for _, n := range p.sizes(Failure) {
		for _, r := range p.of(Failure, n) {
			if base, inPlace := fixed[r.Way]; inPlace && r.Kubelet == kubeletDefault {
				rows = append(rows, p.budgetOf(r, base))
			}
		}
	}
	if len(rows) == 0 {
		return
	}
	p.section("CPU by part, and what it predicts")
	p.line("CPU time of one restart after a killed process, in microseconds per worker: the values of [the tables above](#what-one-failure-costs), less what the")
	p.line("same program uses in that time when the group is [idle](#idle-groups). A restart cannot be faster than the model's times:\n")
	p.line("* **this machine**: the CPU time of all parts, divided by the number of cores, and the times of the simulated processes, containers and kubelets.")
	p.line("* **a core per node**: each agent has its own core, and the store has one. The agents' share is then the time of one agent. With the CRI driver,")
	p.line("  the API server is involved, too, and its cores are unknown, so there is no prediction.\n")
	p.header(append(append([]string{"workers", "recovery"}, Programs...), "this machine, s", "measured, s", "measured / model", "a core per node, s")...)
	for _, row := range rows {
		p.row(row)
	}
}

func (p *page) budgetOf(r Result, base float64) []string {
	row, total := []string{fmt.Sprint(r.Workers), r.name()}, 0.0
	each := map[string]float64{} // seconds per worker
	for _, name := range Programs {
		each[name] = p.restartCPU(r, name)
		total += each[name]
		row = append(row, number(each[name]*1e6))
	}
	shared := base + total*float64(r.Workers)/float64(max(1, r.Machine.Cores))
	own := "-"
	if r.Way != CRI {
		own = number(base + each[Store]*float64(r.Workers) + each[Players])
	}
	measured := r.Outage().Median
	return append(row, number(shared), number(measured), number(measured/shared), own)
}

// restartCPU returns a program's CPU time per worker in a restart, excluding what it uses while the group is idle.
func (p *page) restartCPU(r Result, program string) float64 {
	rest := p.restCPU(program)
	n := float64(r.Workers)
	return r.each(func(run Run) float64 { return max(0, run.Usage.CPU[program]/n-rest*run.Usage.Seconds) }).Median
}

// restCPU returns a program's CPU time per worker and second in an idle group, measured in the largest such group. It returns 0 if none was
// measured.
func (p *page) restCPU(program string) float64 {
	sizes := p.sizes(Steady)
	for i := len(sizes) - 1; i >= 0; i-- {
		if rest, found := p.find(Steady, Exec, sizes[i]); found {
			return rest.each(func(run Run) float64 { return run.Usage.CPU[program] / run.Usage.Seconds }).Median / float64(sizes[i])
		}
	}
	return 0
}
