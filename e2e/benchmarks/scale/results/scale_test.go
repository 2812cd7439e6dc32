package results

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestStatistic(t *testing.T) {
	for name, test := range map[string]struct {
		values []float64
		want   string
	}{
		"nothing":                     {nil, "-"},
		"one value has no spread":     {[]float64{2.5}, "2.50"},
		"the middle of three":         {[]float64{30, 1, 2}, "2.00 (1.00-30.0)"},
		"between the middle two":      {[]float64{4, 1, 2, 3}, "2.50 (1.00-4.00)"},
		"small ones keep their digit": {[]float64{0.0042}, "0.0042"},
		"large ones have no fraction": {[]float64{1234.5}, "1234"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Of(test.values).String(); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestQuantile(t *testing.T) {
	var values []float64
	for i := range 200 {
		values = append(values, float64(200-i))
	}
	for share, want := range map[float64]float64{0: 1, 0.5: 100, 0.99: 198, 1: 200} {
		if got := Quantile(values, share); got != want {
			t.Errorf("quantile %g is %g, want %g", share, got, want)
		}
	}
	if got := Quantile(nil, 0.5); !math.IsNaN(got) {
		t.Errorf("the quantile of no values is %g, want NaN", got)
	}
}

func TestAPhaseThatSomeRunsLack(t *testing.T) {
	r := Result{Runs: []Run{{Phases: []Phase{{"ordered", 1}}}, {}, {Phases: []Phase{{"ordered", 3}}}}}
	if got := r.Phase("ordered"); got.N != 2 || got.Median != 2 {
		t.Errorf("got %+v", got)
	}
	if got := r.Phase("down"); got.N != 0 {
		t.Errorf("no run has the phase, got %+v", got)
	}
}

// measured returns results of 1,000 agents: 10 s at rest use 1 s of the store's CPU, and a restart within 5 s uses 1.5
// s.
func measured() (restart, rest Result) {
	restart = Result{Key: Key{Workers: 1000}, Runs: []Run{{Usage: Usage{
		Seconds: 5, CPU: map[string]float64{Store: 1.5}, Store: map[string]float64{"fcall": 3000, "ping": 2000},
	}}}}
	rest = Result{Key: Key{Workers: 1000}, Runs: []Run{{Usage: Usage{
		Seconds: 10, CPU: map[string]float64{Store: 1}, Store: map[string]float64{"fcall": 1000, "ping": 3000}, StoreMiB: 10,
	}}}}
	return restart, rest
}

func TestCostsOfARestartExcludeThoseAtRest(t *testing.T) {
	c, ok := CostsOf(measured())
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: %g, want %g", what, got, want)
		}
	}
	near("CPU at rest", c.RestCPU, 0.0001)
	near("CPU of a restart", c.RestartCPU, 0.0015-0.0005)
	near("calls at rest", c.RestCalls, 0.4)
	near("calls of a restart", c.RestartCalls, 5-2)
	near("bytes", c.Bytes, 10<<20/1000.)
	if !ok {
		t.Error("the costs are unknown")
	}
	p := c.For(100_000, 10)
	near("connections", p.Connections, 20_000)
	near("a restart", p.Seconds, 10)
	near("cores at rest", p.RestCores, 1)
	near("memory", p.MemoryMiB, 100)
	if got := c.ShardsWithin(100_000, 2); got != 50 {
		t.Errorf("%d shards, want 50", got)
	}
}

func TestCostsOfDifferentGroupsAreRejected(t *testing.T) {
	restart, rest := measured()
	rest.Workers = 999
	if _, ok := CostsOf(restart, rest); ok {
		t.Error("costs are computed from groups of different sizes")
	}
	if _, ok := CostsOf(Result{}, Result{}); ok {
		t.Error("costs are computed without results")
	}
}

func TestMergeReplacesByKey(t *testing.T) {
	file := filepath.Join(t.TempDir(), "new", "scale.json")
	all, err := Load(file)
	if err != nil || all != nil {
		t.Fatalf("a missing file: %v, %v", all, err)
	}
	for _, seconds := range []float64{1, 2} {
		for _, way := range []string{Exec, CRI} {
			all = Merge(all, Result{Key: Key{Way: way}, Runs: []Run{{Seconds: seconds}}})
		}
	}
	all = Add(all, Result{Key: Key{Way: Exec}, Runs: []Run{{Seconds: 7}}})
	if added := all[0]; len(added.Runs) != 2 || added.Runs[1].Seconds != 7 || added.Earlier != 1 {
		t.Errorf("added: %+v", added)
	}
	all[1].Runs[0].Phases = []Phase{{Ordered, 0.123456789}}
	if err := Save(file, all); err != nil {
		t.Fatal(err)
	}
	again, err := Load(file)
	if err != nil || len(again) != 2 || again[0].Way != Exec || again[1].Runs[0].Seconds != 2 || again[1].Runs[0].Phases[0].At != 0.12346 {
		t.Errorf("got %+v, %v", again, err)
	}
	if content, err := os.ReadFile(file); err != nil || strings.Count(string(content), "\n") != len(all)+2 {
		t.Errorf("a result is not one line (%v):\n%s", err, content)
	}
}
