package settings

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/signals"
)

// Values of the node label that Autopilot writes.
const (
	autopilotLabel = "autopilot.ibm.com/gpuhealth"
	gpu            = "nvidia.com/gpu"
)

// Default is what holds without a file.
func Default() AppWrapper {
	weight := int32(50)
	return AppWrapper{
		Autopilot: Autopilot{
			InjectAntiAffinities: true,
			MonitorNodes:         true,
			ResourceTaints: map[string][]corev1.Taint{gpu: {
				{Key: autopilotLabel, Value: "ERR", Effect: corev1.TaintEffectNoSchedule},
				{Key: autopilotLabel, Value: "EVICT", Effect: corev1.TaintEffectNoExecute},
			}},
			PreferNoScheduleWeight: &weight,
		},
		UserRBACAdmissionCheck: true,
		FaultTolerance:         DefaultFaultTolerance(),
		NodeHealth:             NodeHealth{MaxSimultaneousEvacuations: 20, EvacuatedNodeTTL: Duration(time.Hour)},
	}
}

// effects of a signal that stand for those of a taint.
var effects = map[corev1.TaintEffect]signals.Effect{
	corev1.TaintEffectNoSchedule:       signals.Avoid,
	corev1.TaintEffectPreferNoSchedule: signals.SoftAvoid,
	corev1.TaintEffectNoExecute:        signals.Evacuate,
}

// Table is the one table of signals: Autopilot's, ordered by resource, and the operator's own.
func (a AppWrapper) Table() signals.Table {
	var table signals.Table
	for _, resource := range slices.Sorted(maps.Keys(a.Autopilot.ResourceTaints)) {
		for _, taint := range a.Autopilot.ResourceTaints[resource] {
			table = append(table, signals.Signal{
				Name:      taint.Key + "=" + taint.Value,
				Label:     &signals.Label{Key: taint.Key, Values: []string{taint.Value}},
				Resources: []corev1.ResourceName{corev1.ResourceName(resource)},
				Effect:    effects[taint.Effect],
			})
		}
	}
	for _, s := range a.NodeHealth.Signals {
		table = append(table, s.signal())
	}
	return table
}

func (s Signal) signal() signals.Signal {
	out := signals.Signal{
		Name: s.Name, Label: s.Label, Taint: s.Taint, Condition: s.Condition, PodResourceHealth: s.PodResourceHealth,
		Effect: s.Effect, HoldDown: time.Duration(s.HoldDown),
	}
	for _, resource := range s.Resources {
		out.Resources = append(out.Resources, corev1.ResourceName(resource))
	}
	return out
}
