package results

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Model is something that is simulated, with its value and the source of that value.
type Model struct{ What, Value, Source string }

// page is the page being written.
type page struct {
	strings.Builder
	all     []Result
	folder  string
	figures map[string]string
}

// Page returns the page of results, and its plots by file name. The page links to them in the folder.
func Page(all []Result, folder string, models []Model) (text string, figures map[string]string) {
	p := &page{all: slices.Clone(all), folder: folder, figures: map[string]string{}}
	slices.SortStableFunc(p.all, byKey)
	p.introduce()
	p.headline()
	p.together()
	p.targets()
	p.method()
	p.phases()
	p.cost()
	p.budget()
	p.repeats()
	p.steady()
	p.many()
	p.agents()
	p.models(models)
	return p.String(), p.figures
}

func byKey(a, b Result) int {
	if a.Workers != b.Workers {
		return a.Workers - b.Workers
	}
	return slices.Index(ways, a.Way) - slices.Index(ways, b.Way)
}

// ways lists the ways to recover in the order of the tables.
var ways = []string{Recreate, Published, Blocking, Upstream, CRI, Exec, Spares}

func (p *page) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

func (p *page) section(title string) { p.line("\n## %s\n", title) }

// header writes the header of a table.
func (p *page) header(columns ...string) {
	p.row(columns)
	p.line("|%s", strings.Repeat("---|", len(columns)))
}

func (p *page) row(cells []string) { p.line("| %s |", strings.Join(cells, " | ")) }

// kubeletDefault is the kubelet's default restart back-off.
const kubeletDefault = "default"

// find returns the result for one JobSet with the kubelet's defaults. It returns false if there is none.
func (p *page) find(scenario, way string, workers int) (Result, bool) {
	for _, r := range p.all {
		if r.Scenario == scenario && r.Way == way && r.Workers == workers && r.JobSets == 1 && r.Kubelet == kubeletDefault {
			return r, true
		}
	}
	return Result{}, false
}

// sizes returns the sizes for which a scenario with one JobSet was measured.
func (p *page) sizes(scenario string) []int {
	sizes := map[int]bool{}
	for _, r := range p.all {
		if r.Scenario == scenario && r.JobSets == 1 {
			sizes[r.Workers] = true
		}
	}
	return slices.Sorted(maps.Keys(sizes))
}

// of returns the results of a scenario at a size.
func (p *page) of(scenario string, workers int) []Result {
	var some []Result
	for _, r := range p.all {
		if r.Scenario == scenario && r.Workers == workers && r.JobSets == 1 {
			some = append(some, r)
		}
	}
	return some
}

// name returns a result's way to recover, with the kubelet's setting if it is not the default.
func (r Result) name() string {
	if r.Kubelet == kubeletDefault || r.Kubelet == "" {
		return r.Way
	}
	return r.Way + ", kubelet " + r.Kubelet
}

func (p *page) headline() {
	p.section("From the failure until all workers are running")
	p.header("workers", "recovery", "runs", "process killed, s", "x", "pod deleted, s", "x")
	for _, n := range p.sizes(Failure) {
		base, _ := p.find(Failure, Recreate, n)
		basePod, _ := p.find(Pod, Recreate, n)
		for _, r := range p.of(Failure, n) {
			pod := p.same(r, Pod)
			p.row([]string{
				fmt.Sprint(n), r.name(), runsOf(r, pod), r.Outage().String(), ratio(base.Outage(), r.Outage()),
				pod.Outage().String(), ratio(basePod.Outage(), pod.Outage()),
			})
		}
	}
	p.line("\nx is the speedup over Recreate with the same number of workers.")
	for _, scenario := range []string{Failure, Pod} {
		p.outages(scenario)
	}
}

// together shows failures of many workers at once.
func (p *page) together() {
	var rows [][]string
	for _, n := range p.sizes(Failure) {
		for _, r := range p.of(Failure, n) {
			several, rack := p.same(r, Ten), p.same(r, Rack)
			if len(several.Runs)+len(rack.Runs) > 0 {
				rows = append(rows, []string{
					fmt.Sprint(n), r.name(), r.Outage().String(), several.Outage().String(), ratio(several.Outage(), r.Outage()),
					p.same(r, Pod).Outage().String(), rack.Outage().String(),
				})
			}
		}
	}
	if len(rows) == 0 {
		return
	}
	p.section("Several failures at once")
	p.line("The processes of ten workers are killed at once, or a hundred pods of one node pool are deleted at once, such as the pods of a rack.\n")
	p.table("", []string{"workers", "recovery", "one process, s", "ten processes, s", "ten / one", "one pod, s", "a hundred pods, s"}, rows)
}

// runsOf returns the number of runs in which a process was killed, and the number in which a pod was deleted if it differs.
func runsOf(killed, deleted Result) string {
	if n := len(deleted.Runs); n > 0 && n != len(killed.Runs) {
		return fmt.Sprintf("%d, %d", len(killed.Runs), n)
	}
	return fmt.Sprint(len(killed.Runs))
}

// same returns the result whose key differs only in the scenario, or a zero Result.
func (p *page) same(r Result, scenario string) Result {
	for _, other := range p.all {
		k := r.Key
		k.Scenario = scenario
		if other.Key == k {
			return other
		}
	}
	return Result{}
}

func ratio(base, is Statistic) string {
	if base.N == 0 || is.N == 0 || is.Median == 0 {
		return "-"
	}
	return number(base.Median / is.Median)
}

func (p *page) phases() {
	p.section("Where the time goes")
	p.line("Median times in seconds, from the failure. For in-place restarts, the store publishes the order in the same step in which it is notified of the failure. \"all down\" and \"in sync\"")
	p.line("are measured at the store. From \"pod ended\" on, a lost pod's slot can be reassigned.")
	for _, scenario := range []string{Failure, Pod} {
		names := []string{Detected, Ordered, OrderP50, OrderP99, OrderLast, AllDown, InSync, AllUp}
		if scenario == Pod {
			names = slices.Insert(names, len(names)-2, Evidence)
		}
		p.phaseTable(scenario, []string{CRI, Exec, Spares}, names)
		p.phaseTable(scenario, []string{Recreate, Published, Blocking}, []string{Decided, FirstUp, OldGone, AllUp})
		p.phaseTable(scenario, []string{Upstream}, []string{OrderP50, OrderP99, OrderLast, AllDown, FirstUp, AllUp})
	}
}

func (p *page) phaseTable(scenario string, ways, names []string) {
	var rows [][]string
	for _, n := range p.sizes(scenario) {
		for _, r := range p.of(scenario, n) {
			if !slices.Contains(ways, r.Way) {
				continue
			}
			cells := []string{fmt.Sprint(n), r.name()}
			for _, name := range names {
				at := r.Phase(name)
				if at.N == 0 {
					cells = append(cells, "-")
					continue
				}
				cells = append(cells, number(at.Median))
			}
			rows = append(rows, cells)
		}
	}
	p.table(what[scenario], append([]string{"workers", "recovery"}, names...), rows)
}

// what describes scenarios in words.
var what = map[string]string{Failure: "a process is killed", Pod: "a pod is deleted"}

// table writes a table, unless it has no rows.
func (p *page) table(title string, columns []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	if title != "" {
		p.line("\n%s%s:\n", strings.ToUpper(title[:1]), title[1:])
	}
	p.header(columns...)
	for _, r := range rows {
		p.row(r)
	}
}

// Programs lists the measured programs in the order of the tables, ours first.
var Programs = []string{"manager", "orchestrator", Store, Players, "kube-apiserver", "etcd", "kube-controller-manager", "kube-scheduler"}

// Players is the program that simulates the nodes and runs all agents.
const Players = "agents and nodes"

func (p *page) cost() {
	p.section("What one failure costs")
	p.line("From the failure until a few seconds after all workers are running. Calls are requests to the API server, excluding watches; ours are those of the manager")
	p.line("and the orchestrator. Requests to the store are function calls and subscribers' pings; one function runs many commands.")
	for _, scenario := range []string{Failure, Pod} {
		var calls, cpu, memory [][]string
		for _, n := range p.sizes(scenario) {
			for _, r := range p.of(scenario, n) {
				head := []string{fmt.Sprint(n), r.name()}
				calls = append(calls, append(slices.Clone(head),
					r.counted(func(u Usage) float64 { return u.Calls["all"] }), r.counted(func(u Usage) float64 { return u.Calls["manager"] }),
					r.counted(func(u Usage) float64 { return u.Calls["orchestrator"] }), r.counted(func(u Usage) float64 { return u.EtcdWrites }),
					r.counted(func(u Usage) float64 { return u.Store["fcall"] }), r.counted(func(u Usage) float64 { return u.Store["ping"] })))
				cpu, memory = append(cpu, head), append(memory, head)
				for _, name := range Programs {
					i := len(cpu) - 1
					cpu[i] = append(slices.Clip(cpu[i]), r.used(func(u Usage) float64 { return u.CPU[name] }))
					memory[i] = append(slices.Clip(memory[i]), r.counted(func(u Usage) float64 { return u.MemoryMiB[name] }))
				}
			}
		}
		columns := append([]string{"workers", "recovery"}, Programs...)
		p.table(what[scenario], []string{"workers", "recovery", "API calls", "manager's", "orchestrator's", "etcd writes", "store calls", "pings"}, calls)
		p.table("CPU time, seconds", columns, cpu)
		p.table("peak memory, MiB", columns, memory)
	}
}

func (p *page) repeats() {
	if len(p.sizes(Repeat)) == 0 {
		return
	}
	p.section("Failures within ten minutes")
	p.line("The kubelet delays repeated restarts of a container: 10 s, 20 s, 40 s and so on, until ten minutes pass without a restart. The simulation uses the measured back-off, and also")
	p.line("`crashLoopBackOff.maxContainerRestartPeriod: 1s` (kubelet period-1s). Restarts requested through the CRI driver avoid the back-off if the agent removes the container's")
	p.line("record before the kubelet reads it. Otherwise, the container waits. The back-off always applies to the worker that fails on its own. With the exec driver,")
	p.line("containers keep running, and the kubelet is not involved.")
	for _, n := range p.sizes(Repeat) {
		var rows [][]string
		most := 0
		for _, r := range p.of(Repeat, n) {
			most = max(most, len(r.Runs))
		}
		columns := []string{"recovery", "who fails"}
		for i := range most {
			columns = append(columns, fmt.Sprint(i+1))
		}
		for _, r := range p.of(Repeat, n) {
			cells := []string{r.name(), r.Variant}
			for _, run := range r.Runs {
				cells = append(cells, number(run.Seconds))
			}
			rows = append(rows, append(cells, make([]string, 2+most-len(cells))...))
		}
		p.table(fmt.Sprintf("%d workers, seconds until recovery for each failure", n), columns, rows)
		p.repeatFigure(n)
	}
}

func (p *page) steady() {
	if len(p.sizes(Steady)) == 0 {
		return
	}
	p.section("Idle groups")
	p.line("Calls of an idle group, per second. Each agent reads every 15 to 30 s, and idle subscriptions ping every 10 s. The remaining calls to the API server renew")
	p.line("the Leases of the orchestrator, the cluster's components and its real node.\n")
	var calls, cpu [][]string
	for _, n := range p.sizes(Steady) {
		for _, r := range p.of(Steady, n) {
			second := func(of func(Usage) float64) string { return r.used(func(u Usage) float64 { return of(u) / u.Seconds }) }
			calls = append(calls, []string{
				fmt.Sprint(n), r.name(), r.counted(func(u Usage) float64 { return u.Seconds }), second(func(u Usage) float64 { return u.Calls["manager"] }),
				second(func(u Usage) float64 { return u.Calls["orchestrator"] }), second(func(u Usage) float64 { return u.Calls["all"] }),
				second(func(u Usage) float64 { return u.Store["fcall"] }), number(float64(n) / 15), second(func(u Usage) float64 { return u.Store["ping"] }),
				r.counted(func(u Usage) float64 { return u.StoreMiB }), r.counted(func(u Usage) float64 { return u.StoreConnections }),
			})
			cells := []string{fmt.Sprint(n), r.name()}
			for _, name := range Programs {
				cells = append(cells, second(func(u Usage) float64 { return 1000 * u.CPU[name] }))
			}
			cpu = append(cpu, cells)
		}
	}
	p.table("", []string{
		"workers", "recovery", "seconds", "manager's calls", "orchestrator's", "all API calls", "store reads", "N/15", "pings", "store, MiB", "its connections",
	}, calls)
	p.table("CPU, milliseconds per second", append([]string{"workers", "recovery"}, Programs...), cpu)
}

func (p *page) many() {
	var rows [][]string
	for _, r := range p.all {
		if r.Scenario != Many {
			continue
		}
		for _, run := range r.Runs {
			u := run.Usage
			per := func(v float64) string { return number(v / float64(max(1, len(run.Outages)))) }
			rows = append(rows, []string{
				fmt.Sprintf("%d x %d", r.JobSets, r.Workers/r.JobSets), r.name(), fmt.Sprint(len(run.Outages)),
				number(Quantile(run.Outages, 0.5)), number(Quantile(run.Outages, 0.99)), number(Quantile(run.Outages, 1)),
				per(u.Calls["all"]), per(u.Calls["manager"] + u.Calls["orchestrator"]), per(u.Store["fcall"]),
				number(u.CPU["orchestrator"] / u.Seconds), number(u.CPU["manager"] / u.Seconds), number(u.CPU[Store] / u.Seconds),
				number(u.MemoryMiB["orchestrator"]), number(u.MemoryMiB["manager"]),
			})
		}
	}
	if len(rows) == 0 {
		return
	}
	p.section("Many JobSets, a failure every second")
	p.line("Every second, one worker of a running JobSet is killed. Calls are counted per failure; CPU is the share of a core. Some JobSets fail twice. With the CRI driver, if")
	p.line("the kubelet has already noticed an exit of the failing worker's container, that worker waits for the back-off of 10 s, and its group waits with it.\n")
	p.table("", []string{
		"JobSets x workers", "recovery", "failures", "median, s", "99 %, s", "slowest, s", "API calls", "ours", "store calls",
		"CPU orchestrator", "manager", "store", "MiB orchestrator", "manager",
	}, rows)
}

func (p *page) models(models []Model) {
	if len(models) == 0 {
		return
	}
	p.section("What is simulated")
	p.header("what", "value", "from")
	for _, m := range models {
		p.row([]string{m.What, m.Value, m.Source})
	}
	p.line("\nThe following is not simulated and therefore takes no time: pulling images, the CPU time of starting a container on its node, slow release of GPUs, the network between nodes,")
	p.line("and an agent's startup file. The agents' limit of stops per minute is raised, because failures follow each other faster here than in practice.")
}
