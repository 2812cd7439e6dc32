package webhook

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func TestAdmissionCountersStartAtZero(t *testing.T) {
	registry := prometheus.NewRegistry()
	count := Counter(registry)
	count(Excluded)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, m := range families[0].GetMetric() {
		values[m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue()
	}
	if len(values) != 3 || values[Excluded] != 1 {
		t.Errorf("got %v", values)
	}
}
