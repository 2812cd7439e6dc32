package appwrapper

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/series"
)

func TestEveryResetBeginsWithZero(t *testing.T) {
	registry := prometheus.NewRegistry()
	NewMetrics(registry)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]float64{}
	for _, family := range families {
		if family.GetName() != series.Resets.Name {
			continue
		}
		for _, m := range family.GetMetric() {
			counted, reason := m.GetLabel()[0].GetValue(), m.GetLabel()[1].GetValue() // sorted by name
			found[reason+" "+counted] = m.GetCounter().GetValue()
		}
	}
	if value, begun := found["AutopilotNoExecute false"]; !begun || value != 0 || len(found) != len(policy.Resets) {
		t.Errorf("got %v", found)
	}
}
