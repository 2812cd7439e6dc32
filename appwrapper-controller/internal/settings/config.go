package settings

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/signals"
)

// AppWrapper is the part of the operator's file that is about AppWrappers. The names are those of the published configuration,
// and nodeHealth and evacuationLimit are added.
type AppWrapper struct {
	Autopilot              Autopilot      `json:"autopilot,omitempty"`
	UserRBACAdmissionCheck bool           `json:"userRBACAdmissionCheck,omitempty"`
	FaultTolerance         FaultTolerance `json:"faultTolerance,omitempty"`
	SchedulerName          string         `json:"schedulerName,omitempty"`
	DefaultQueueName       string         `json:"defaultQueueName,omitempty"`
	NodeHealth             NodeHealth     `json:"nodeHealth,omitempty"`
}

// Autopilot says which node labels mean that a resource is bad.
type Autopilot struct {
	InjectAntiAffinities   bool                      `json:"injectAntiAffinities,omitempty"`
	MonitorNodes           bool                      `json:"monitorNodes,omitempty"`
	ResourceTaints         map[string][]corev1.Taint `json:"resourceTaints,omitempty"`
	PreferNoScheduleWeight *int32                    `json:"preferNoScheduleWeight,omitempty"`
}

// NodeHealth has what goes beyond Autopilot.
type NodeHealth struct {
	// Signals of bad nodes, in addition to those of autopilot.resourceTaints.
	Signals []Signal `json:"signals,omitempty"`
	// MaxSimultaneousEvacuations bounds the workloads that leave bad nodes at a time; the others wait. 0 is no bound.
	MaxSimultaneousEvacuations int `json:"maxSimultaneousEvacuations,omitempty"`
	// EvacuationLimit is how often one workload is evacuated before it fails. Absent: RetryLimit alone governs.
	EvacuationLimit *int32 `json:"evacuationLimit,omitempty"`
	// EvacuatedNodeTTL is how long the next attempts of a workload keep away from a node that it was moved away from.
	EvacuatedNodeTTL Duration `json:"evacuatedNodeTTL,omitempty"`
}

// Signal is a signals.Signal as it is written in the file.
type Signal struct {
	Name              string             `json:"name"`
	Label             *signals.Label     `json:"label,omitempty"`
	Taint             *signals.Taint     `json:"taint,omitempty"`
	Condition         *signals.Condition `json:"condition,omitempty"`
	PodResourceHealth bool               `json:"podResourceHealth,omitempty"`
	Resources         []string           `json:"resources,omitempty"`
	Effect            signals.Effect     `json:"effect"`
	HoldDown          Duration           `json:"holdDown,omitempty"`
}

// validate returns what is wrong with the signals and limits.
func (n NodeHealth) validate() error {
	var errs []error
	if n.MaxSimultaneousEvacuations < 0 {
		errs = append(errs, fmt.Errorf("nodeHealth.maxSimultaneousEvacuations: %d is negative", n.MaxSimultaneousEvacuations))
	}
	if n.EvacuatedNodeTTL < 0 {
		errs = append(errs, errors.New("nodeHealth.evacuatedNodeTTL: it is negative"))
	}
	for i, s := range n.Signals {
		if err := s.signal().Validate(); err != nil {
			errs = append(errs, fmt.Errorf("nodeHealth.signals[%d]: %w", i, err))
		}
	}
	return errors.Join(errs...)
}

// Validate returns all that is wrong.
func (a AppWrapper) Validate() error {
	errs := []error{a.FaultTolerance.Validate(), a.NodeHealth.validate()}
	for _, resource := range slices.Sorted(maps.Keys(a.Autopilot.ResourceTaints)) {
		for i, taint := range a.Autopilot.ResourceTaints[resource] {
			if _, known := effects[taint.Effect]; !known {
				errs = append(errs, fmt.Errorf("autopilot.resourceTaints[%s][%d].effect: %q is none of NoSchedule, NoExecute, PreferNoSchedule", resource, i, taint.Effect))
			}
		}
	}
	return errors.Join(errs...)
}
