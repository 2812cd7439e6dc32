// Package settings defines what operators and users can configure: the parameters of the retry loop, with defaults, annotations and
// limits, and the operator's configuration. It performs no I/O.
package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/signals"
	"github.com/holdfast-project/holdfast/shared/grace"
	"github.com/holdfast-project/holdfast/shared/restart"
)

// AppWrapper is the configuration file section for AppWrappers. It has the keys of the upstream configuration, plus nodeHealth,
// retryDecay and objectTTL.
type AppWrapper struct {
	Autopilot              Autopilot      `json:"autopilot,omitempty"`
	UserRBACAdmissionCheck bool           `json:"userRBACAdmissionCheck,omitempty"`
	FaultTolerance         FaultTolerance `json:"faultTolerance,omitempty"`
	SchedulerName          string         `json:"schedulerName,omitempty"`
	DefaultQueueName       string         `json:"defaultQueueName,omitempty"`
	NodeHealth             NodeHealth     `json:"nodeHealth,omitempty"`
}

// Autopilot determines which node labels mark a resource as bad.
type Autopilot struct {
	InjectAntiAffinities   bool                      `json:"injectAntiAffinities,omitempty"`
	MonitorNodes           bool                      `json:"monitorNodes,omitempty"`
	ResourceTaints         map[string][]corev1.Taint `json:"resourceTaints,omitempty"`
	PreferNoScheduleWeight *int32                    `json:"preferNoScheduleWeight,omitempty"`
}

// NodeHealth has settings in addition to those of Autopilot.
type NodeHealth struct {
	// Signals of bad nodes, in addition to autopilot.resourceTaints.
	Signals signals.Table `json:"signals,omitempty"`
	// MaxSimultaneousEvacuations limits how many workloads can leave bad nodes at the same time. 0 means no limit.
	MaxSimultaneousEvacuations int `json:"maxSimultaneousEvacuations,omitempty"`
	// EvacuationLimit is how many times a workload is evacuated before it fails. If unset, only RetryLimit applies.
	EvacuationLimit *restart.Budget `json:"evacuationLimit,omitempty"`
	// EvacuatedNodeTTL is how long later attempts of a workload avoid a node from which it was evacuated.
	EvacuatedNodeTTL Duration `json:"evacuatedNodeTTL,omitzero"`
}

func (a AppWrapper) Validate() error {
	errs := []error{a.FaultTolerance.Validate()}
	if a.NodeHealth.MaxSimultaneousEvacuations < 0 {
		errs = append(errs, fmt.Errorf("nodeHealth.maxSimultaneousEvacuations: %d is negative", a.NodeHealth.MaxSimultaneousEvacuations))
	}
	if a.NodeHealth.EvacuatedNodeTTL.Duration < 0 {
		errs = append(errs, errors.New("nodeHealth.evacuatedNodeTTL: must not be negative"))
	}
	for i, s := range a.NodeHealth.Signals {
		if err := s.Validate(); err != nil {
			errs = append(errs, fmt.Errorf("nodeHealth.signals[%d]: %w", i, err))
		}
	}
	for _, resource := range slices.Sorted(maps.Keys(a.Autopilot.ResourceTaints)) {
		for i, taint := range a.Autopilot.ResourceTaints[resource] {
			if _, known := effects[taint.Effect]; !known {
				errs = append(errs, fmt.Errorf("autopilot.resourceTaints[%s][%d].effect: must be NoSchedule, NoExecute or PreferNoSchedule, not %q", resource, i, taint.Effect))
			}
		}
	}
	return errors.Join(errs...)
}

// The node label that Autopilot writes, and the resource that it checks.
const (
	autopilotLabel = "autopilot.ibm.com/gpuhealth"
	gpu            = "nvidia.com/gpu"
)

// Default returns the defaults. Those for the retry loop come from the AppWrapper design document.
func Default() AppWrapper {
	return AppWrapper{
		Autopilot: Autopilot{
			InjectAntiAffinities: true,
			MonitorNodes:         true,
			ResourceTaints: map[string][]corev1.Taint{gpu: {
				{Key: autopilotLabel, Value: "ERR", Effect: corev1.TaintEffectNoSchedule},
				{Key: autopilotLabel, Value: "EVICT", Effect: corev1.TaintEffectNoExecute},
			}},
			PreferNoScheduleWeight: new(int32(50)),
		},
		UserRBACAdmissionCheck: true,
		FaultTolerance: FaultTolerance{
			AdmissionGracePeriod:        Duration{time.Minute},
			WarmupGracePeriod:           Duration{5 * time.Minute},
			FailureGracePeriod:          Duration{time.Minute},
			RetryPausePeriod:            Duration{90 * time.Second},
			RetryLimit:                  3,
			ForcefulDeletionGracePeriod: Duration{10 * time.Minute},
			GracePeriodMaximum:          Duration{24 * time.Hour},
			SuccessTTL:                  Duration{7 * 24 * time.Hour},
		},
		NodeHealth: NodeHealth{MaxSimultaneousEvacuations: 20, EvacuatedNodeTTL: Duration{time.Hour}},
	}
}

var effects = map[corev1.TaintEffect]signals.Effect{
	corev1.TaintEffectNoSchedule:       signals.Avoid,
	corev1.TaintEffectPreferNoSchedule: signals.SoftAvoid,
	corev1.TaintEffectNoExecute:        signals.Evacuate,
}

// Table returns all signals: those of Autopilot in the order of resources, then the operator's own. Without MonitorNodes, a signal does not
// evacuate nodes, but new pods still avoid them.
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
	table = append(table, a.NodeHealth.Signals...)
	for i := range table {
		if table[i].Effect == signals.Evacuate && !a.Autopilot.MonitorNodes {
			table[i].Effect = signals.Avoid
		}
	}
	return table
}

// Duration is written as "5m". A number of nanoseconds, the only format that the upstream controller supports, is also accepted.
type Duration metav1.Duration

func (d *Duration) UnmarshalJSON(raw []byte) error {
	if json.Unmarshal(raw, &d.Duration) == nil {
		return nil
	}
	return (*metav1.Duration)(d).UnmarshalJSON(raw)
}

// noMinimum allows negative values, which are treated as zero.
const noMinimum = time.Duration(math.MinInt64)

// FaultTolerance holds the operator's defaults for the retry loop, with the keys of the upstream configuration.
type FaultTolerance struct {
	AdmissionGracePeriod        Duration       `json:"admissionGracePeriod,omitzero"`
	WarmupGracePeriod           Duration       `json:"warmupGracePeriod,omitzero"`
	FailureGracePeriod          Duration       `json:"failureGracePeriod,omitzero"`
	RetryPausePeriod            Duration       `json:"resetPause,omitzero"`
	RetryLimit                  restart.Budget `json:"retryLimit,omitempty"`
	ForcefulDeletionGracePeriod Duration       `json:"deletionGracePeriod,omitzero"`
	// GracePeriodMaximum is the upper limit for all other periods except SuccessTTL.
	GracePeriodMaximum Duration `json:"gracePeriodCeiling,omitzero"`
	// SuccessTTL is both the default and the upper limit.
	SuccessTTL Duration `json:"successTTLCeiling,omitzero"`
	// RetryDecay is how long all pods must be running before earlier resets no longer count. 0 means never.
	RetryDecay Duration `json:"retryDecay,omitzero"`
	// ObjectTTL is how long to keep a finished AppWrapper with nothing deployed. 0 means forever.
	ObjectTTL Duration `json:"objectTTL,omitzero"`
}

func (f FaultTolerance) Validate() error {
	var errs []error
	for _, p := range []struct {
		key   string
		value time.Duration
	}{
		{"deletionGracePeriod", f.ForcefulDeletionGracePeriod.Duration}, {"resetPause", f.RetryPausePeriod.Duration},
		{"failureGracePeriod", f.FailureGracePeriod.Duration}, {"admissionGracePeriod", f.AdmissionGracePeriod.Duration},
		{"warmupGracePeriod", f.WarmupGracePeriod.Duration},
	} {
		switch {
		case p.value < 0:
			errs = append(errs, fmt.Errorf("faultTolerance.%s: %s is negative", p.key, p.value))
		case p.value > f.GracePeriodMaximum.Duration:
			errs = append(errs, fmt.Errorf("faultTolerance.%s: %s exceeds gracePeriodCeiling, which is %s",
				p.key, p.value, f.GracePeriodMaximum))
		}
	}
	if f.AdmissionGracePeriod.Duration > f.WarmupGracePeriod.Duration {
		errs = append(errs, fmt.Errorf("faultTolerance.admissionGracePeriod: %s exceeds warmupGracePeriod, which is %s",
			f.AdmissionGracePeriod, f.WarmupGracePeriod))
	}
	if f.RetryDecay.Duration < 0 || f.ObjectTTL.Duration < 0 {
		errs = append(errs, errors.New("faultTolerance: retryDecay and objectTTL must not be negative"))
	}
	if f.SuccessTTL.Duration <= 0 {
		errs = append(errs, fmt.Errorf("faultTolerance.successTTLCeiling: %s is not positive", f.SuccessTTL))
	}
	return errors.Join(errs...)
}

// Parameters are the settings of the retry loop of one AppWrapper.
type Parameters struct {
	FaultTolerance
	DeletionOnFailureGracePeriod Duration
	// TerminalExitCodes fail the workload without a reset.
	TerminalExitCodes []int32
	// RetryableExitCodes, if set, are the only exit codes that allow a reset.
	RetryableExitCodes []int32
}

// Read returns the parameters from the annotations of an AppWrapper, with the operator's defaults. Grace periods are limited to the range
// from 0 to GracePeriodMaximum. problems describes the invalid annotations, for which the defaults are used.
func Read(annotations map[string]string, operator FaultTolerance) (p Parameters, problems []string) {
	p.FaultTolerance = operator
	r := reader{annotations: annotations}
	for _, period := range []struct {
		key   string
		value *Duration
	}{
		{v1beta2.AdmissionGracePeriodKey, &p.AdmissionGracePeriod},
		{v1beta2.WarmupGracePeriodKey, &p.WarmupGracePeriod},
		{v1beta2.FailureGracePeriodKey, &p.FailureGracePeriod},
		{v1beta2.RetryPausePeriodKey, &p.RetryPausePeriod},
		{v1beta2.ForcefulDeletionGracePeriodKey, &p.ForcefulDeletionGracePeriod},
		{v1beta2.DeletionOnFailureGracePeriodKey, &p.DeletionOnFailureGracePeriod},
	} {
		rule := grace.Rule{Name: period.key, Default: period.value.Duration, Minimum: noMinimum, Maximum: p.GracePeriodMaximum.Duration}
		period.value.Duration = max(0, r.parse(rule))
	}
	ttl := p.SuccessTTL.Duration // its own maximum
	p.SuccessTTL.Duration = r.parse(grace.Rule{Name: v1beta2.SuccessTTLKey, Default: ttl, Minimum: 1, Maximum: ttl})
	p.RetryLimit = r.limit(operator.RetryLimit)
	p.TerminalExitCodes, p.RetryableExitCodes = r.exitCodes(v1beta2.TerminalExitCodesKey), r.exitCodes(v1beta2.RetryableExitCodesKey)
	return p, append(r.problems, unknownKeys(annotations)...)
}

type reader struct {
	annotations map[string]string
	problems    []string
}

func (r *reader) parse(rule grace.Rule) time.Duration {
	d, err := rule.Parse(r.annotations[rule.Name])
	if err != nil {
		r.problems = append(r.problems, err.Error())
	}
	return d
}

func (r *reader) limit(operator restart.Budget) restart.Budget {
	value, set := r.annotations[v1beta2.RetryLimitKey]
	if !set {
		return operator
	}
	n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 32)
	if err != nil {
		r.problems = append(r.problems, fmt.Sprintf("%s: %q is not a whole number", v1beta2.RetryLimitKey, value))
		return operator
	}
	return restart.Budget(n)
}

func (r *reader) exitCodes(key string) []int32 {
	var codes []int32
	for item := range strings.SplitSeq(r.annotations[key], ",") {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		code, err := strconv.ParseInt(item, 10, 32)
		if err != nil {
			r.problems = append(r.problems, fmt.Sprintf("%s: %q is not an exit code", key, item))
			continue
		}
		codes = append(codes, int32(code))
	}
	return codes
}

var keys = []string{
	v1beta2.AdmissionGracePeriodKey, v1beta2.WarmupGracePeriodKey, v1beta2.FailureGracePeriodKey, v1beta2.RetryPausePeriodKey,
	v1beta2.RetryLimitKey, v1beta2.ForcefulDeletionGracePeriodKey, v1beta2.DeletionOnFailureGracePeriodKey, v1beta2.SuccessTTLKey,
	v1beta2.TerminalExitCodesKey, v1beta2.RetryableExitCodesKey,
}

// unknownKeys reports unsupported annotations with our prefix, which are probably misspelled.
func unknownKeys(annotations map[string]string) (problems []string) {
	prefix, _, _ := strings.Cut(v1beta2.RetryLimitKey, "/")
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		if strings.HasPrefix(key, prefix+"/") && !slices.Contains(keys, key) {
			problems = append(problems, fmt.Sprintf("%s: unknown annotation; supported are %s", key, strings.Join(keys, ", ")))
		}
	}
	return problems
}
