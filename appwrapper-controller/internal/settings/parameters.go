package settings

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/shared/grace"
	"github.com/holdfast-project/holdfast/shared/restart"
)

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

// Problem is an invalid annotation, for which the default is used.
type Problem struct{ Annotation, Value, Message string }

// Read returns the parameters from the annotations of an AppWrapper, with the operator's defaults.
func Read(annotations map[string]string, operator FaultTolerance) (Parameters, []Problem) {
	r := reader{annotations: annotations, maximum: time.Duration(operator.GracePeriodMaximum)}
	p := Parameters{
		AdmissionGracePeriod:         r.period(v1beta2.AdmissionGracePeriodKey, operator.AdmissionGracePeriod),
		WarmupGracePeriod:            r.period(v1beta2.WarmupGracePeriodKey, operator.WarmupGracePeriod),
		FailureGracePeriod:           r.period(v1beta2.FailureGracePeriodKey, operator.FailureGracePeriod),
		RetryPausePeriod:             r.period(v1beta2.RetryPausePeriodKey, operator.RetryPausePeriod),
		RetryLimit:                   r.limit(operator.RetryLimit),
		ForcefulDeletionGracePeriod:  r.period(v1beta2.ForcefulDeletionGracePeriodKey, operator.ForcefulDeletionGracePeriod),
		DeletionOnFailureGracePeriod: r.period(v1beta2.DeletionOnFailureGracePeriodKey, 0),
		SuccessTTL:                   r.successTTL(time.Duration(operator.SuccessTTL)),
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
	problems    []Problem
}

// period reads a grace period and clips it to the range from 0 to GracePeriodMaximum.
func (r *reader) period(key string, operator Duration) time.Duration {
	rule := grace.Rule{Name: key, Default: time.Duration(operator), Minimum: noMinimum, Maximum: r.maximum}
	return max(0, r.parse(rule))
}

// successTTL reads SuccessTTL, which has its own maximum and must be positive.
func (r *reader) successTTL(operator time.Duration) time.Duration {
	return r.parse(grace.Rule{Name: v1beta2.SuccessTTLKey, Default: operator, Minimum: 1, Maximum: operator})
}

func (r *reader) parse(rule grace.Rule) time.Duration {
	value := r.annotations[rule.Name]
	d, err := rule.Parse(value)
	if err != nil {
		r.problems = append(r.problems, Problem{rule.Name, value, err.Error()})
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
		r.problems = append(r.problems, Problem{v1beta2.RetryLimitKey, value, fmt.Sprintf("%s: %q is not a whole number", v1beta2.RetryLimitKey, value)})
		return restart.Budget(operator)
	}
	return restart.Budget(n)
}

// exitCodes reads a list of exit codes and reports invalid ones.
func (r *reader) exitCodes(key string) []int32 {
	var codes []int32
	for item := range strings.SplitSeq(r.annotations[key], ",") {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		code, err := strconv.ParseInt(item, 10, 32)
		if err != nil {
			r.problems = append(r.problems, Problem{key, r.annotations[key], fmt.Sprintf("%s: %q is not an exit code", key, item)})
			continue
		}
		codes = append(codes, int32(code))
	}
	return codes
}

// keys lists all supported annotations.
var keys = []string{
	v1beta2.AdmissionGracePeriodKey, v1beta2.WarmupGracePeriodKey, v1beta2.FailureGracePeriodKey, v1beta2.RetryPausePeriodKey,
	v1beta2.RetryLimitKey, v1beta2.ForcefulDeletionGracePeriodKey, v1beta2.DeletionOnFailureGracePeriodKey, v1beta2.SuccessTTLKey,
	v1beta2.TerminalExitCodesKey, v1beta2.RetryableExitCodesKey,
}

// unknownKeys reports unsupported annotations with our prefix, which are probably misspelled.
func unknownKeys(annotations map[string]string) []Problem {
	prefix, _, _ := strings.Cut(v1beta2.RetryLimitKey, "/")
	var problems []Problem
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		if strings.HasPrefix(key, prefix+"/") && !slices.Contains(keys, key) {
			problems = append(problems, Problem{key, annotations[key], fmt.Sprintf("%s: unknown annotation; supported are %s", key, strings.Join(keys, ", "))})
		}
	}
	return problems
}
