package main

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-project/holdfast/e2e/benchmarks/scale/results"
	"github.com/holdfast-project/holdfast/e2e/fakes/kubelet"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

func TestParse(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		ok   bool
	}{
		"nothing given":                    {nil, true},
		"a short run":                      {[]string{"--workers=50", "--ways=exec", "--scenarios=failure", "--runs=1"}, true},
		"an unknown way":                   {[]string{"--ways=exec,none"}, false},
		"an unknown scenario":              {[]string{"--scenarios=fire"}, false},
		"workers that fill no five pools":  {[]string{"--workers=501"}, false},
		"an unknown kubelet":               {[]string{"--kubelet=slow"}, false},
		"many without a number of workers": {[]string{"--many=200"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := parse(test.args); (err == nil) != test.ok {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestAgentsWithSharedConnectionsFitIntoTheFileLimitOfASmallMachine(t *testing.T) {
	for workers, want := range map[int]int{5000: 14000, 10000: 14100} {
		if got := filesFor(workers); got != want {
			t.Errorf("%d workers: %d files, want %d", workers, got, want)
		}
	}
}

func TestVictimsAreDistinctWorkers(t *testing.T) {
	g := &group{js: jobSet("train", results.Exec, 5, 10, true), size: 50}
	slots := map[string]bool{}
	for job := range 5 {
		for pod := range 10 {
			slots[g.slot(pod*5+job)] = true
		}
	}
	if len(slots) != 50 || !slots["train-workers-4-9"] {
		t.Errorf("slots %v", slots)
	}
	seen := map[string]bool{}
	for i := range 10 {
		v := g.victim(i)
		if !slots[v] || seen[v] {
			t.Errorf("victim %d is %s", i, v)
		}
		seen[v] = true
	}
}

func TestJobSetsAreConfiguredForTheirWay(t *testing.T) {
	for way, want := range map[string]struct {
		policy corev1.RestartPolicy
		limit  bool
		driver string
	}{
		results.Recreate: {corev1.RestartPolicyNever, true, ""},
		results.Blocking: {corev1.RestartPolicyNever, true, ""},
		results.CRI:      {"", false, "cri"},
		results.Exec:     {"", false, "exec"},
		results.Spares:   {"", false, "exec"},
		results.Upstream: {corev1.RestartPolicyOnFailure, true, ""},
	} {
		js := jobSet("train", way, 5, 10, true)
		if got := js.Annotations[v1alpha2.SparesKey]; (got != "") != (way == results.Spares) {
			t.Errorf("%s: %q spares", way, got)
		}
		template := js.Spec.ReplicatedJobs[0].Template.Spec
		if template.Template.Spec.RestartPolicy != want.policy || (template.BackoffLimit != nil) != want.limit || js.Annotations[v1alpha2.InPlaceDriverKey] != want.driver {
			t.Errorf("%s: policy %q, limit %v, driver %q", way, template.Template.Spec.RestartPolicy, template.BackoffLimit, js.Annotations[v1alpha2.InPlaceDriverKey])
		}
		if got := js.Annotations[v1alpha2.ExclusiveKey]; got != kubelet.PoolLabel {
			t.Errorf("%s: exclusive placement is requested by %q", way, got)
		}
	}
}

func TestUsageIsTheDifferenceOfCounters(t *testing.T) {
	at := time.Unix(100, 0)
	before := counters{at: at, usage: results.Usage{EtcdWrites: 10, Inside: 100, Calls: map[string]float64{manager: 5}, CPU: map[string]float64{self: 1},
		MemoryMiB: map[string]float64{self: 70}, StoreMiB: 3, Store: map[string]float64{"fcall": 7}}}
	after := counters{at: at.Add(2 * time.Second), usage: results.Usage{EtcdWrites: 14, Inside: 160, Calls: map[string]float64{manager: 5, orchestrator: 3},
		CPU: map[string]float64{self: 1.5}, MemoryMiB: map[string]float64{self: 60}, StoreMiB: 4, Store: map[string]float64{"fcall": 9}}}
	want := results.Usage{Seconds: 2, EtcdWrites: 4, Inside: 60, Calls: map[string]float64{orchestrator: 3}, CPU: map[string]float64{self: 0.5},
		MemoryMiB: map[string]float64{self: 60}, StoreMiB: 4, Store: map[string]float64{"fcall": 2}}
	if diff := cmp.Diff(want, after.since(before)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestInfoOfTheStore(t *testing.T) {
	const info = "# Memory\r\nused_memory:2097152\r\nused_memory_peak:9\r\ntotal_commands_processed:77\r\n" +
		"cmdstat_fcall:calls=12,usec=3\r\ncmdstat_hget:calls=40,usec=1\r\ncmdstat_client|setname:calls=2,usec=1\r\n"
	if got := fieldIn(info, "used_memory"); got != 2097152 {
		t.Errorf("memory %g", got)
	}
	if got := fieldIn(info, "absent"); got != 0 {
		t.Errorf("an absent field: %g", got)
	}
	want := map[string]float64{"fcall": 12, "client|setname": 2}
	if diff := cmp.Diff(want, outside(commandsIn(info))); diff != "" {
		t.Errorf("commands from outside (-want +got):\n%s", diff)
	}
}

func TestTicks(t *testing.T) {
	got, err := ticksIn("12 (a) b) S 1 2 3 4 5 6 7 8 9 10 150 50 0 0 20 0")
	if err != nil || math.Abs(got-2) > 1e-9 {
		t.Errorf("got %g s, %v; want 2", got, err)
	}
	if _, err := ticksIn("12 (a) S 1"); err == nil {
		t.Error("a short line is read")
	}
}

func TestSumOfSeries(t *testing.T) {
	const text = "# TYPE calls_total counter\ncalls_total{verb=\"GET\"} 3\ncalls_total{verb=\"WATCH\"} 40\ncalls_totally 100\nplain 7\n"
	for name, want := range map[string]float64{"calls_total": 43, "plain": 7, "absent": 0} {
		if got, err := sumOf(text, name, nil); err != nil || got != want {
			t.Errorf("%s: %g, %v; want %g", name, got, err, want)
		}
	}
}

func TestWordAfter(t *testing.T) {
	if got := wordAfter("Redis server v=7.0.15 sha=1", "v="); got != "7.0.15" {
		t.Errorf("got %q", got)
	}
	if got := wordAfter("nothing", "v="); got != "" {
		t.Errorf("got %q", got)
	}
}
