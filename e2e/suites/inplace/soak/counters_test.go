//go:build e2e && e2e_all

package soak

import (
	"fmt"
	"math"
	"slices"

	"github.com/holdfast-project/holdfast/shared/history"
)

// counters are the values of metrics by name and series.
type counters map[string]map[string]float64

// Metrics that must agree with the history.
const (
	restarted    = "holdfast_restarts_total"
	ended        = "holdfast_inplace_rounds_total"
	lostSeconds  = "holdfast_lost_worker_seconds_total"
	phaseCount   = "holdfast_restart_duration_seconds_count"
	phaseSeconds = "holdfast_restart_duration_seconds_sum"
)

func (c counters) add(metric, series string, value float64) {
	if c[metric] == nil {
		c[metric] = map[string]float64{}
	}
	c[metric][series] += value
}

// counted adds the leading orchestrator's counters, multiplied by sign.
func (k *soak) counted(sign float64) error {
	for _, metric := range []string{restarted, ended, lostSeconds, phaseCount, phaseSeconds} {
		series, err := shared.Series(k.Context(), metric)
		if err != nil {
			return err
		}
		for labels, value := range series {
			k.counts.add(metric, labels, sign*value)
		}
	}
	return nil
}

// of adds one restart to the counters.
func (c counters) of(e history.Entry) {
	c.add(restarted, fmt.Sprintf("counted=%q,kind=%q,reason=%q", fmt.Sprint(e.Counted), e.Kind, e.Cause.Kind), 1)
	c.add(lostSeconds, fmt.Sprintf("cause=%q", e.Cause.Kind), e.Lost().Seconds()*size)
	if e.Kind == history.InPlace {
		c.add(ended, fmt.Sprintf("outcome=%q", map[history.End]string{
			history.Running: "in_sync", history.Overtaken: "overtaken", history.Abandoned: "abandoned",
		}[e.Ended]), 1)
	}
	for _, phase := range history.Phases {
		labels := fmt.Sprintf("kind=%q,phase=%q", e.Kind, phase)
		c.add(phaseCount, labels, 1)
		c.add(phaseSeconds, labels, e.Took[phase].Duration().Seconds())
	}
}

// compareCounters checks that the metrics agree with the history, series by series. No restart may be counted twice. An
// orchestrator that is killed after it wrote the annotation but before it counted misses one restart. Therefore, the
// number of missing restarts must not exceed the number of kills, and the missing time must not exceed that of the
// longest restarts.
func (k *soak) compareCounters() {
	k.must(k.counted(+1))
	want, missing := counters{}, map[string]float64{}
	for _, e := range k.history {
		want.of(e)
	}
	for metric, series := range k.counts {
		for labels := range series {
			want.add(metric, labels, 0)
		}
	}
	const dust = 1e-6 // rounding errors of floating-point sums
	for metric, series := range want {
		for labels, expected := range series {
			short := expected - k.counts[metric][labels]
			if short < -dust {
				k.Errorf("%s{%s} is %v, the history says %v", metric, labels, k.counts[metric][labels], expected)
			}
			missing[metric] += max(0, short)
		}
	}
	may := k.mayBeMissing()
	for metric, short := range missing {
		if short > may[metric]+dust {
			k.Errorf("%s is %v less than in the history; after %d kills of the orchestrator, at most %v may be missing", metric, short, k.kills, may[metric])
		}
	}
	k.Logf("missing after %d kills: %v", k.kills, missing)
}

func (k *soak) mayBeMissing() map[string]float64 {
	var lost []float64
	for _, e := range k.history {
		lost = append(lost, e.Lost().Seconds())
	}
	slices.Sort(lost)
	n := min(k.kills, len(lost))
	var longest float64
	for _, seconds := range lost[len(lost)-n:] {
		longest += seconds
	}
	restarts := float64(n)
	return map[string]float64{
		restarted: restarts, ended: restarts, phaseCount: restarts * float64(len(history.Phases)),
		lostSeconds: math.Ceil(longest) * size, phaseSeconds: math.Ceil(longest),
	}
}
