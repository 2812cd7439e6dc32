package framework

import (
	"context"
	"fmt"
	"net/http"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/holdfast-project/holdfast/e2e/framework/footprint"
)

// Usage is what a program has used since it started, according to its own metrics.
type Usage struct {
	CPU   float64 // in seconds
	RSS   float64 // current, in bytes
	Calls float64 // requests to the API server
	// Reconciles is the number of reconciles of all controllers, and ReconcileTime is what they took together, in seconds.
	Reconciles, ReconcileTime float64
}

// UsageAt reads a program's usage from the metrics that it serves at the given address.
func UsageAt(ctx context.Context, address string) (Usage, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", http.NoBody)
	if err != nil {
		return Usage{}, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return Usage{}, err
	}
	defer response.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(response.Body)
	if err != nil {
		return Usage{}, fmt.Errorf("reading the metrics at %s: %w", address, err)
	}
	sum := func(name string) float64 {
		total := 0.0
		for _, m := range families[name].GetMetric() {
			total += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
		return total
	}
	u := Usage{CPU: sum("process_cpu_seconds_total"), RSS: sum("process_resident_memory_bytes"), Calls: sum("rest_client_requests_total")}
	for _, m := range families["controller_runtime_reconcile_time_seconds"].GetMetric() {
		u.Reconciles += float64(m.GetHistogram().GetSampleCount())
		u.ReconcileTime += m.GetHistogram().GetSampleSum()
	}
	return u, nil
}

// Metered is a program on this host whose usage is measured.
type Metered struct {
	Name    string
	Metrics string // address
}

// UsageOf returns what a program has used since its start. RSS is its peak since it was last reset by UsagesDuring.
func (env *Environment) UsageOf(ctx context.Context, m Metered) (Usage, error) {
	u, err := UsageAt(ctx, m.Metrics)
	if err != nil {
		return u, err
	}
	pid, err := env.Cluster.ProgramPID(m.Name)
	if err != nil {
		return u, err
	}
	peak, err := footprint.Peak(pid)
	u.RSS = peak * (1 << 20)
	return u, err
}

// UsagesDuring returns what each program uses while do runs. RSS is the peak.
func (env *Environment) UsagesDuring(ctx context.Context, programs []Metered, do func() error) ([]Usage, error) {
	before := make([]Usage, len(programs))
	for i, m := range programs {
		pid, err := env.Cluster.ProgramPID(m.Name)
		if err != nil {
			return nil, err
		}
		if err := footprint.Forget(pid); err != nil {
			return nil, err
		}
		if before[i], err = UsageAt(ctx, m.Metrics); err != nil {
			return nil, err
		}
	}
	if err := do(); err != nil {
		return nil, err
	}
	used := make([]Usage, len(programs))
	for i, m := range programs {
		after, err := env.UsageOf(ctx, m)
		if err != nil {
			return nil, err
		}
		used[i] = after.Since(before[i])
	}
	return used, nil
}

// Since returns the usage since an earlier measurement. RSS is the current value.
func (u Usage) Since(before Usage) Usage {
	return Usage{
		CPU: u.CPU - before.CPU, RSS: u.RSS, Calls: u.Calls - before.Calls,
		Reconciles: u.Reconciles - before.Reconciles, ReconcileTime: u.ReconcileTime - before.ReconcileTime,
	}
}
