package meter

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-project/holdfast/shared/series"
)

func TestZeroCreatesSeries(t *testing.T) {
	registry := prometheus.NewRegistry()
	NewCounters(registry, series.JobSetRestarts).Zero(series.JobSetRestarts, "true", "false")
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	if len(families) != 1 || families[0].GetName() != series.JobSetRestarts.Name || len(families[0].GetMetric()) != 2 {
		t.Fatalf("got %v", families)
	}
	for _, metric := range families[0].GetMetric() {
		if metric.GetCounter().GetValue() != 0 {
			t.Errorf("the counter %v is not zero", metric.GetLabel())
		}
	}
}
