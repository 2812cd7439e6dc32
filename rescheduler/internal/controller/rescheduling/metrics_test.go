package rescheduling

import (
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
	"github.com/holdfast-project/holdfast/rescheduler/internal/signals"
	"github.com/holdfast-project/holdfast/shared/series"
)

// counted are the decisions that a configuration begins to count, as "reason signal".
func counted(t *testing.T, config settings.Rescheduling) (all []string) {
	t.Helper()
	registry := prometheus.NewRegistry()
	NewMetrics(registry, config)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() != series.Decisions.Name {
				continue
			}
			if m.GetCounter().GetValue() != 0 {
				t.Errorf("%v has counted", m.GetLabel())
			}
			all = append(all, m.GetLabel()[0].GetValue()+" "+m.GetLabel()[1].GetValue())
		}
	}
	return all
}

func TestDecisionsBeginWithZero(t *testing.T) {
	off, always := signals.Off, signals.Always
	changed := settings.Default()
	changed.DryRun = true
	changed.Signals = map[string]settings.Signal{"OOMKilled": {Trigger: &off}, "ImagePull": {Trigger: &always}}
	for name, c := range map[string]struct {
		config    settings.Rescheduling
		with, not []string
	}{
		"by default": {
			settings.Default(),
			[]string{"Rescheduled OOMKilled", "BlockedByDisruptionBudget OOMKilled", "NotTheNodesFault ConfigError", "NotMovable NodeFeature", "ExclusionsLifted "},
			[]string{"Rescheduled ConfigError", "BlockedByDisruptionBudget HandedOver", "Rescheduled ImagePull", "NotLongEnough OOMKilled"},
		},
		"as configured": {
			changed,
			[]string{"WouldReschedule ImagePull", "ExclusionsLifted "},
			[]string{"NotMovable OOMKilled", "Rescheduled ImagePull"},
		},
	} {
		all := counted(t, c.config)
		for _, series := range c.with {
			if !slices.Contains(all, series) {
				t.Errorf("%s: no %q among %q", name, series, all)
			}
		}
		for _, series := range c.not {
			if slices.Contains(all, series) {
				t.Errorf("%s: %q cannot be", name, series)
			}
		}
		if len(all) > 200 {
			t.Errorf("%s: %d series", name, len(all))
		}
		t.Log(name, len(all))
	}
}
