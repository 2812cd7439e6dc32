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
	EvacuatedNodeTTL Duration `json:"evacuatedNodeTTL,omitempty"`
}

func (a AppWrapper) Validate() error {
	errs := []error{a.FaultTolerance.Validate()}
	if a.NodeHealth.MaxSimultaneousEvacuations < 0 {
		errs = append(errs, fmt.Errorf("nodeHealth.maxSimultaneousEvacuations: %d is negative", a.NodeHealth.MaxSimultaneousEvacuations))
	}
	if a.NodeHealth.EvacuatedNodeTTL < 0 {
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
			AdmissionGracePeriod:        Duration(time.Minute),
			WarmupGracePeriod:           Duration(5 * time.Minute),
			FailureGracePeriod:          Duration(time.Minute),
			RetryPausePeriod:            Duration(90 * time.Second),
			RetryLimit:                  3,
			ForcefulDeletionGracePeriod: Duration(10 * time.Minute),
			GracePeriodMaximum:          Duration(24 * time.Hour),
			SuccessTTL:                  Duration(7 * 24 * time.Hour),
		},
		NodeHealth: NodeHealth{MaxSimultaneousEvacuations: 20, EvacuatedNodeTTL: Duration(time.Hour)},
	}
}

var effects = map[corev1.TaintEffect]signals.Effect{
	corev1.TaintEffectNoSchedule:       signals.Avoid,
	corev1.TaintEffectPreferNoSchedule: signals.SoftAvoid,
	corev1.TaintEffectNoExecute:        signals.Evacuate,
}

// Table returns all signals: those of Autopilot in the order of resources, then the operator's own.
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
	return append(table, a.NodeHealth.Signals...)
}

// Duration is written as "5m". A number of nanoseconds, the only format that the upstream controller supports, is also accepted.
type Duration time.Duration

func (d *Duration) UnmarshalJSON(raw []byte) error {
	if json.Unmarshal(raw, (*int64)(d)) == nil {
		return nil
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil || text == "" {
		return fmt.Errorf("%s is neither a duration such as \"5m\" nor a number of nanoseconds", raw)
	}
	parsed, err := grace.Rule{Name: "duration", Minimum: noMinimum}.Parse(text)
	if err != nil {
		return err
	}
	*d = Duration(parsed)
	return nil
}

func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

// noMinimum allows negative values, which are treated as zero; see reader.period.
const noMinimum = time.Duration(math.MinInt64)

// FaultTolerance holds the operator's defaults for the retry loop, with the keys of the upstream configuration.
type FaultTolerance struct {
	AdmissionGracePeriod        Duration `json:"admissionGracePeriod,omitempty"`
	WarmupGracePeriod           Duration `json:"warmupGracePeriod,omitempty"`
	FailureGracePeriod          Duration `json:"failureGracePeriod,omitempty"`
	RetryPausePeriod            Duration `json:"resetPause,omitempty"`
	RetryLimit                  int32    `json:"retryLimit,omitempty"`
	ForcefulDeletionGracePeriod Duration `json:"deletionGracePeriod,omitempty"`
	// GracePeriodMaximum is the upper limit for all other periods except SuccessTTL.
	GracePeriodMaximum Duration `json:"gracePeriodCeiling,omitempty"`
	// SuccessTTL is both the default and the upper limit.
	SuccessTTL Duration `json:"successTTLCeiling,omitempty"`
	// RetryDecay is how long all pods must be running before earlier resets no longer count. 0 means never.
	RetryDecay Duration `json:"retryDecay,omitempty"`
	// ObjectTTL is how long to keep a finished AppWrapper with nothing deployed. 0 means forever.
	ObjectTTL Duration `json:"objectTTL,omitempty"`
}

func (f FaultTolerance) Validate() error {
	var errs []error
	for _, p := range []struct {
		key   string
		value Duration
	}{
		{"deletionGracePeriod", f.ForcefulDeletionGracePeriod}, {"resetPause", f.RetryPausePeriod},
		{"failureGracePeriod", f.FailureGracePeriod}, {"admissionGracePeriod", f.AdmissionGracePeriod},
		{"warmupGracePeriod", f.WarmupGracePeriod},
	} {
		switch {
		case p.value < 0:
			errs = append(errs, fmt.Errorf("faultTolerance.%s: %s is negative", p.key, time.Duration(p.value)))
		case p.value > f.GracePeriodMaximum:
			errs = append(errs, fmt.Errorf("faultTolerance.%s: %s exceeds gracePeriodCeiling, which is %s",
				p.key, time.Duration(p.value), time.Duration(f.GracePeriodMaximum)))
		}
	}
	if f.AdmissionGracePeriod > f.WarmupGracePeriod {
		errs = append(errs, fmt.Errorf("faultTolerance.admissionGracePeriod: %s exceeds warmupGracePeriod, which is %s",
			time.Duration(f.AdmissionGracePeriod), time.Duration(f.WarmupGracePeriod)))
	}
	if f.RetryDecay < 0 || f.ObjectTTL < 0 {
		errs = append(errs, errors.New("faultTolerance: retryDecay and objectTTL must not be negative"))
	}
	if f.SuccessTTL <= 0 {
		errs = append(errs, fmt.Errorf("faultTolerance.successTTLCeiling: %s is not positive", time.Duration(f.SuccessTTL)))
	}
	return errors.Join(errs...)
}

// Parameters are the settings of the retry loop of one AppWrapper.
type Parameters struct {
	AdmissionGracePeriod         time.Duration
	WarmupGracePeriod            time.Duration
	FailureGracePeriod           time.Duration
	RetryPausePeriod             time.Duration
	RetryLimit                   restart.Budget
	ForcefulDeletionGracePeriod  time.Duration
	DeletionOnFailureGracePeriod time.Duration
	SuccessTTL                   time.Duration
	GracePeriodMaximum           time.Duration
	RetryDecay                   time.Duration // 0: never
	ObjectTTL                    time.Duration // 0: forever
	// TerminalExitCodes fail the workload without a reset.
	TerminalExitCodes []int32
	// RetryableExitCodes, if set, are the only exit codes that allow a reset.
	RetryableExitCodes []int32
}

// Read returns the parameters from the annotations of an AppWrapper, with the operator's defaults. problems describes the invalid
// annotations, for which the defaults are used.
func Read(annotations map[string]string, operator FaultTolerance) (p Parameters, problems []string) {
	r := reader{annotations: annotations, maximum: time.Duration(operator.GracePeriodMaximum)}
	ttl := time.Duration(operator.SuccessTTL) // its own maximum
	p = Parameters{
		AdmissionGracePeriod:         r.period(v1beta2.AdmissionGracePeriodKey, operator.AdmissionGracePeriod),
		WarmupGracePeriod:            r.period(v1beta2.WarmupGracePeriodKey, operator.WarmupGracePeriod),
		FailureGracePeriod:           r.period(v1beta2.FailureGracePeriodKey, operator.FailureGracePeriod),
		RetryPausePeriod:             r.period(v1beta2.RetryPausePeriodKey, operator.RetryPausePeriod),
		RetryLimit:                   r.limit(operator.RetryLimit),
		ForcefulDeletionGracePeriod:  r.period(v1beta2.ForcefulDeletionGracePeriodKey, operator.ForcefulDeletionGracePeriod),
		DeletionOnFailureGracePeriod: r.period(v1beta2.DeletionOnFailureGracePeriodKey, 0),
		SuccessTTL:                   r.parse(grace.Rule{Name: v1beta2.SuccessTTLKey, Default: ttl, Minimum: 1, Maximum: ttl}),
		GracePeriodMaximum:           time.Duration(operator.GracePeriodMaximum),
		RetryDecay:                   time.Duration(operator.RetryDecay),
		ObjectTTL:                    time.Duration(operator.ObjectTTL),
		TerminalExitCodes:            r.exitCodes(v1beta2.TerminalExitCodesKey),
		RetryableExitCodes:           r.exitCodes(v1beta2.RetryableExitCodesKey),
	}
	return p, append(r.problems, unknownKeys(annotations)...)
}

type reader struct {
	annotations map[string]string
	maximum     time.Duration
	problems    []string
}

// period reads a grace period and limits it to the range from 0 to GracePeriodMaximum.
func (r *reader) period(key string, operator Duration) time.Duration {
	rule := grace.Rule{Name: key, Default: time.Duration(operator), Minimum: noMinimum, Maximum: r.maximum}
	return max(0, r.parse(rule))
}

func (r *reader) parse(rule grace.Rule) time.Duration {
	d, err := rule.Parse(r.annotations[rule.Name])
	if err != nil {
		r.problems = append(r.problems, err.Error())
	}
	return d
}

func (r *reader) limit(operator int32) restart.Budget {
	value, set := r.annotations[v1beta2.RetryLimitKey]
	if !set {
		return restart.Budget(operator)
	}
	n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 32)
	if err != nil {
		r.problems = append(r.problems, fmt.Sprintf("%s: %q is not a whole number", v1beta2.RetryLimitKey, value))
		return restart.Budget(operator)
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
