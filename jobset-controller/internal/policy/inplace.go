package policy

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/grace"
)

// InPlace is the content of a JobSet's annotations for in-place restarts.
type InPlace struct {
	// Enabled is true if the JobSet has a valid inplace-timeout.
	Enabled bool
	// Timeout is how long an in-place restart may take before all Jobs are recreated.
	Timeout time.Duration
	// FormingTimeout is how long workers may take to join for the first time before they are recreated.
	FormingTimeout time.Duration
	// MaxRestartDelay limits how long workers are delayed before they start, if restarts keep failing early.
	MaxRestartDelay time.Duration
	// Restarts is the value of inplace-restarts, or 0 if it is absent or invalid.
	Restarts int32
	// NodeLostAfter is how long a node must be silent before its pods are considered stopped. 0 means never.
	NodeLostAfter time.Duration
	// Problems lists invalid annotations. They have no other effect.
	Problems []Problem
}

type Problem struct {
	// Annotation and Value identify a problem that has already been reported.
	Annotation, Value string
	// Message names both and describes a valid value.
	Message string
}

// timeoutRule has no default; see optIn.
var timeoutRule = grace.Rule{Name: "annotation " + v1alpha2.InPlaceTimeoutKey, Minimum: time.Millisecond}

func ReadInPlace(annotations map[string]string) InPlace {
	var p InPlace
	timeout, problem := optIn(timeoutRule, v1alpha2.InPlaceTimeoutKey, annotations)
	if problem != nil {
		p.Problems = append(p.Problems, *problem)
	}
	p.Enabled, p.Timeout = timeout > 0, timeout
	p.FormingTimeout = p.readOrDefault(formingRule, v1alpha2.FormingTimeoutKey, annotations)
	p.MaxRestartDelay = p.readOrDefault(delayRule, v1alpha2.MaxRestartDelayKey, annotations)
	if p.Restarts, problem = ReadRestarts(v1alpha2.InPlaceRestartsKey, annotations); problem != nil {
		p.Problems = append(p.Problems, *problem)
	}
	p.NodeLostAfter = p.readOrDefault(nodeLostRule, v1alpha2.NodeLostAfterKey, annotations)
	return p
}

// optIn reads the duration by which a JobSet enables a feature. It returns 0 if the annotation is missing or invalid.
func optIn(rule grace.Rule, annotation string, annotations map[string]string) (time.Duration, *Problem) {
	value, found := annotations[annotation]
	if !found {
		return 0, nil
	}
	d, err := rule.Parse(value)
	if err == nil && d == 0 {
		err = fmt.Errorf("%s: %q is empty; set a duration such as \"60s\"", rule.Name, value)
	}
	if err != nil {
		return 0, &Problem{Annotation: annotation, Value: value, Message: err.Error()}
	}
	return d, nil
}

// formingRule has a long default, because a node may have to pull an image of tens of gigabytes.
var formingRule = grace.Rule{Name: "annotation " + v1alpha2.FormingTimeoutKey, Default: 30 * time.Minute, Minimum: time.Second}

// delayRule has a default with which 20 restarts of a worker that always fails take several minutes, and a maximum that
// exceeds any useful delay.
var delayRule = grace.Rule{Name: "annotation " + v1alpha2.MaxRestartDelayKey, Default: 32 * time.Second, Maximum: 24 * time.Hour}

// nodeLostRule has a minimum, because a node may temporarily become not ready.
var nodeLostRule = grace.Rule{Name: "annotation " + v1alpha2.NodeLostAfterKey, Minimum: 10 * time.Second}

// readOrDefault returns the default for an invalid value.
func (p *InPlace) readOrDefault(rule grace.Rule, annotation string, annotations map[string]string) time.Duration {
	value := annotations[annotation]
	d, err := rule.Parse(value)
	if err != nil {
		p.Problems = append(p.Problems, Problem{Annotation: annotation, Value: value, Message: err.Error()})
	}
	return d
}

// ReadRestarts reads an annotation with a number of restarts. It returns 0 if the annotation is missing or invalid.
func ReadRestarts(annotation string, annotations map[string]string) (int32, *Problem) {
	value, found := annotations[annotation]
	if !found {
		return 0, nil
	}
	n, err := strconv.ParseInt(value, 10, 32)
	if err != nil || n < 0 {
		return 0, &Problem{Annotation: annotation, Value: value, Message: fmt.Sprintf(
			"annotation %s: %q is not a number of restarts from 0 to %d", annotation, value, math.MaxInt32)}
	}
	return int32(n), nil
}
