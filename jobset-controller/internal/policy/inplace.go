package policy

import (
	"fmt"
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

// Problem describes an invalid value.
type Problem struct {
	// Annotation and Value identify a problem that has already been reported.
	Annotation, Value string
	// Message names both and says what would be valid.
	Message string
}

// timeoutRule has no default: a JobSet enables in-place restarts by setting a value.
var timeoutRule = grace.Rule{Name: "annotation " + v1alpha2.InPlaceTimeoutKey, Minimum: time.Millisecond}

// ReadInPlace reads the annotations of a JobSet.
func ReadInPlace(annotations map[string]string) InPlace {
	var p InPlace
	p.readTimeout(annotations)
	p.FormingTimeout = p.readOrDefault(formingRule, v1alpha2.FormingTimeoutKey, annotations)
	p.MaxRestartDelay = p.readOrDefault(delayRule, v1alpha2.MaxRestartDelayKey, annotations)
	p.readRestarts(annotations)
	p.readNodeLost(annotations)
	return p
}

func (p *InPlace) readTimeout(annotations map[string]string) {
	value, found := annotations[v1alpha2.InPlaceTimeoutKey]
	if !found {
		return
	}
	timeout, err := timeoutRule.Parse(value)
	if err == nil && timeout == 0 {
		err = fmt.Errorf("%s: %q is empty; set a duration such as \"60s\"", timeoutRule.Name, value)
	}
	if err != nil {
		p.problem(v1alpha2.InPlaceTimeoutKey, value, err.Error())
		return
	}
	p.Enabled, p.Timeout = true, timeout
}

// formingRule has a long default, because a node may have to pull an image of tens of gigabytes.
var formingRule = grace.Rule{Name: "annotation " + v1alpha2.FormingTimeoutKey, Default: 30 * time.Minute, Minimum: time.Second}

// delayRule has a default for which 20 restarts of a worker that always fails take several minutes, and a maximum that
// exceeds any useful delay.
var delayRule = grace.Rule{Name: "annotation " + v1alpha2.MaxRestartDelayKey, Default: 32 * time.Second, Maximum: 24 * time.Hour}

// readOrDefault returns the default for an invalid value.
func (p *InPlace) readOrDefault(rule grace.Rule, annotation string, annotations map[string]string) time.Duration {
	value := annotations[annotation]
	d, err := rule.Parse(value)
	if err != nil {
		p.problem(annotation, value, err.Error())
	}
	return d
}

// nodeLostRule has a minimum, because a node may temporarily be not ready.
var nodeLostRule = grace.Rule{Name: "annotation " + v1alpha2.NodeLostAfterKey, Minimum: 10 * time.Second}

func (p *InPlace) readNodeLost(annotations map[string]string) {
	value, found := annotations[v1alpha2.NodeLostAfterKey]
	if !found {
		return
	}
	after, err := nodeLostRule.Parse(value)
	if err != nil {
		p.problem(v1alpha2.NodeLostAfterKey, value, err.Error())
		return
	}
	p.NodeLostAfter = after
}

func (p *InPlace) readRestarts(annotations map[string]string) {
	value, found := annotations[v1alpha2.InPlaceRestartsKey]
	if !found {
		return
	}
	n, err := strconv.ParseInt(value, 10, 32)
	if err != nil || n < 0 {
		p.problem(v1alpha2.InPlaceRestartsKey, value,
			fmt.Sprintf("annotation %s: %q is not a count from 0 to 2147483647 such as \"3\"", v1alpha2.InPlaceRestartsKey, value))
		return
	}
	p.Restarts = int32(n)
}

func (p *InPlace) problem(annotation, value, message string) {
	p.Problems = append(p.Problems, Problem{Annotation: annotation, Value: value, Message: message})
}
