package results

import (
	"encoding/xml"
	"io"
	"strings"
	"testing"
)

func result(scenario, way string, workers int, seconds ...float64) Result {
	r := Result{Machine: Machine{Cores: 2}, Key: Key{Scenario: scenario, Way: way, Workers: workers, JobSets: 1, Kubelet: kubeletDefault}}
	for _, s := range seconds {
		r.Runs = append(r.Runs, Run{Seconds: s, Phases: []Phase{{Ordered, 0.01}, {OrderP99, 0.2}, {AllUp, s}}, Usage: Usage{
			Seconds: 10, Calls: map[string]float64{"all": 7}, CPU: map[string]float64{Store: 0.5}, Store: map[string]float64{"fcall": 100},
			MemoryMiB: map[string]float64{"manager": 300, "orchestrator": 30}, StoreMiB: 20,
		}})
	}
	return r
}

func some() []Result {
	many := result(Many, CRI, 50, 60)
	many.JobSets, many.Runs[0].Outages = 10, []float64{1, 2, 3}
	repeat := result(Repeat, CRI, 5000, 1.5, 9, 4)
	repeat.Variant, repeat.Kubelet = OthersFail, "period-1s"
	steady := result(Steady, Exec, 5000, 300)
	steady.Runs[0].Usage.Seconds, steady.Runs[0].Usage.CPU = 300, map[string]float64{Store: 3}
	lost := result(Pod, Spares, 5000, 0.75)
	lost.Runs[0].Phases = append(lost.Runs[0].Phases, Phase{Evidence, 0.25})
	published := result(Failure, Published, 5000, 240)
	published.Machine, published.Runs[0].Usage.MemoryMiB["manager"] = published.Machine.With(JobSet, "v9.9.9"), 400
	return []Result{
		published, result(Failure, Exec, 5000, 0.4, 0.6, 0.5), result(Failure, Recreate, 5000, 120), result(Failure, CRI, 5000, 2),
		result(Pod, Exec, 5000, 1.2), result(Failure, Exec, 500, 0.1), result(Failure, Recreate, 500, 12),
		result(Failure, Spares, 5000, 0.5), lost, result(Pod, Recreate, 500, 9), result(Pod, CRI, 500, 3), many, repeat, steady,
		result(Ten, Exec, 5000, 0.6), result(Rack, Exec, 5000, 6), result(Failure, Exec, 10_000, 0.9),
	}
}

func lineOf(t *testing.T, page string, parts ...string) string {
	t.Helper()
	for line := range strings.Lines(page) {
		found := true
		for _, part := range parts {
			found = found && strings.Contains(line, part)
		}
		if found {
			return line
		}
	}
	t.Fatalf("no line with %q in:\n%s", parts, page)
	return ""
}

func TestPage(t *testing.T) {
	page, figures := Page(some(), "scale", []Model{{"a kubelet's look", "1 s", "the kubelet's source"}})
	for name, want := range map[string][]string{
		"ratios are to Recreate at the same size":       {"| 5000 | in place, exec driver | 3, 1 | 0.500 (0.400-0.600) | 240 | 1.20 | - |"},
		"and not to that of another":                    {"| 500 | in place, exec driver | 1 | 0.100 | 120 |"},
		"the published controller is alongside ours":    {"| 5000 | Recreate, upstream JobSet | 1 | 240 | 0.500 |"},
		"with its version":                              {"the JobSet controller of kubernetes-sigs, v9.9.9, with"},
		"and its phases":                                {"| 5000 | Recreate, upstream JobSet | - | - | - | 240 |"},
		"a target that is met":                          {"deleted pod, exec driver, s", "<= 1.3", "| met |"},
		"one that is missed, with its distance":         {"from publishing the order", "0.190", "missed: 1.90 times the target"},
		"one that is bound below":                       {"Recreate against the CRI driver", "60.0", "met"},
		"one that was measured in a smaller group":      {"deleted pod, CRI driver: Recreate against it", "| 500 | 3.00 | met |"},
		"a lost pod and a killed process":               {"deleted pod with spares against a killed process", "| 1.50 | missed: 1.15"},
		"and only the time after the evidence":          {"from the evidence that the pod has ended", "| 1.00 | met"},
		"the evidence is a phase":                       {"| 5000 | in place, exec driver, spares | - | 0.010 | - | 0.200 | - | - | 0.250 | - | 0.750 |"},
		"one that was not measured":                     {"kubelet evented, s", "not measured"},
		"the slowest repeat, without the first":         {"repeated, kubelet period-1s", "9.00", "missed"},
		"a controller that takes more memory":           {"memory of the manager", "300", "missed"},
		"ten at once":                                   {"ten processes killed at once", "<= 1.5", "| 1.20 | met |"},
		"ten at once and a rack in a table":             {"| 5000 | in place, exec driver | 0.500 (0.400-0.600) | 0.600 | 1.20 | 1.20 | 6.00 |"},
		"a rack":                                        {"a hundred pods deleted at once", "<= 5", "| 6.00 | missed: 1.20 times"},
		"a target for a larger group":                   {"group restart, exec driver, s", "<= 0.8", "| 10000 | 0.900 | missed: 1.12 times"},
		"CPU of a restart, without that at rest":        {"| 5000 | in place, exec driver | 0 | 0 | 80.0 | 0 |", "| 0.213 | 0.500 | 2.35 | 0.413 |"},
		"failures of many JobSets":                      {"| 10 x 5 | in place, CRI driver | 3 | 2.00 | 3.00 | 3.00 |"},
		"what is played":                                {"| a kubelet's look | 1 s |"},
		"repeats of other kubelets are named":           {"in place, CRI driver, kubelet period-1s | another worker each time | 1.50 | 9.00 | 4.00 |"},
		"reads at rest for each second, alongside N/15": {"| 5000 | in place, exec driver | 300 | 0 | 0 | 0.023 | 0.333 | 333 |"},
	} {
		t.Run(name, func(t *testing.T) { lineOf(t, page, want...) })
	}
	if machine := lineOf(t, page, " cores ("); strings.Contains(machine, "v9.9.9") {
		t.Errorf("a controller that took part in one run is listed for all runs: %s", machine)
	}
	for file, svg := range figures {
		if !strings.Contains(page, "(scale/"+file+")") {
			t.Errorf("%s is not shown", file)
		}
		for d := xml.NewDecoder(strings.NewReader(svg)); ; {
			if _, err := d.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
		}
	}
	if len(figures) < 3 {
		t.Errorf("%d plots", len(figures))
	}
}

func TestTargetsUseTheLargestMeasuredSize(t *testing.T) {
	page, _ := Page([]Result{result(Failure, Exec, 500, 0.1), result(Failure, Exec, 50, 0.05), result(Failure, Exec, 10_000, 3)}, "scale", nil)
	lineOf(t, page, "group restart, exec driver, s", "| 500 |")
	lineOf(t, page, "group restart, exec driver, s", "0.100", "met")
	lineOf(t, page, "store reads per second", "<= 33 | - |")
}

// The store's settings change its cost, so results with other settings must be recognizable.
func TestResultsWithAnotherStoreAreNamed(t *testing.T) {
	list := some()
	list[0].Machine = list[0].Machine.With("redis", "7.0.15")
	page, _ := Page(list, "scale", nil)
	lineOf(t, page, "* 5000 workers, Recreate, upstream JobSet: failure")
	if strings.Contains(page, "* 5000 workers, in place") {
		t.Error("results with the chart's settings are named")
	}
}

func TestPageWithoutResults(t *testing.T) {
	page, figures := Page(nil, "scale", nil)
	if len(figures) > 0 || strings.Contains(page, "NaN") || strings.Contains(page, "100,000 agents, calculated") {
		t.Errorf("a page without results shows results:\n%s", page)
	}
}

func TestRunsOfAnEarlierInvocationAreNamed(t *testing.T) {
	page, _ := Page(Add(some(), result(Failure, Exec, 500, 0.3)), "scale", nil)
	lineOf(t, page, "Of the 2 runs of a killed process with 500 workers, in place, exec driver, 1 are from an earlier invocation.")
	lineOf(t, page, "| 500 | in place, exec driver | 2 | 0.200 (0.100-0.300) |")
}

// The ratio of results from two processors would also depend on the processors.
func TestRowsOfTwoMachinesAreNamed(t *testing.T) {
	list := some()
	page, _ := Page(list, "scale", nil)
	if strings.Contains(page, "These rows were measured on a different processor") {
		t.Error("rows of one machine are named")
	}
	for i := range list {
		if list[i].Way == Exec {
			list[i].Machine.Processor = "another"
		}
	}
	page, _ = Page(list, "scale", nil)
	lineOf(t, page, "These rows were measured on a different processor than the Recreate row")
	lineOf(t, page, "* 500 workers, in place, exec driver, a killed process (another, Recreate")
}
