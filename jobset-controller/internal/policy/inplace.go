package policy

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/grace"
)

// InPlace holds the values of a JobSet's annotations for in-place restarts.
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
	Problems field.ErrorList
}

// timeoutRule has no default; see optIn. The name of each rule is the annotation.
var timeoutRule = grace.Rule{Name: v1alpha2.InPlaceTimeoutKey, Minimum: time.Millisecond}

func ReadInPlace(annotations map[string]string) InPlace {
	var p InPlace
	p.Timeout = optIn(timeoutRule, annotations, &p.Problems)
	p.Enabled = p.Timeout > 0
	p.FormingTimeout = parse(formingRule, annotations, &p.Problems)
	p.MaxRestartDelay = parse(delayRule, annotations, &p.Problems)
	p.Restarts = ReadRestarts(v1alpha2.InPlaceRestartsKey, annotations, &p.Problems)
	p.NodeLostAfter = parse(nodeLostRule, annotations, &p.Problems)
	return p
}

// optIn reads the annotation with the duration that enables a feature of a JobSet. It returns 0 if the annotation is
// missing or invalid.
func optIn(rule grace.Rule, annotations map[string]string, problems *field.ErrorList) time.Duration {
	d := parse(rule, annotations, problems)
	if value, found := annotations[rule.Name]; found && strings.TrimSpace(value) == "" {
		*problems = append(*problems, invalid(rule.Name, value, "is empty; set a duration such as \"60s\""))
	}
	return d
}

// formingRule has a long default, because a node may have to pull an image of tens of gigabytes.
var formingRule = grace.Rule{Name: v1alpha2.FormingTimeoutKey, Default: 30 * time.Minute, Minimum: time.Second}

// delayRule has a default with which 20 restarts of a worker that always fails take several minutes, and a maximum
// beyond any useful delay.
var delayRule = grace.Rule{Name: v1alpha2.MaxRestartDelayKey, Default: 32 * time.Second, Maximum: 24 * time.Hour}

// nodeLostRule has a minimum, because a node may temporarily become not ready.
var nodeLostRule = grace.Rule{Name: v1alpha2.NodeLostAfterKey, Minimum: 10 * time.Second}

// parse reads a duration annotation. It adds a problem and returns the default if the value is invalid.
func parse(rule grace.Rule, annotations map[string]string, problems *field.ErrorList) time.Duration {
	value := annotations[rule.Name]
	d, err := rule.Parse(value)
	if err != nil {
		*problems = append(*problems, invalid(rule.Name, value, strings.TrimPrefix(err.Error(), rule.Name+": ")))
	}
	return d
}

// ReadRestarts reads an annotation with a number of restarts. It returns 0 if the annotation is missing or invalid.
func ReadRestarts(annotation string, annotations map[string]string, problems *field.ErrorList) int32 {
	value, found := annotations[annotation]
	if !found {
		return 0
	}
	n, err := strconv.ParseInt(value, 10, 32)
	if err != nil || n < 0 {
		*problems = append(*problems, invalid(annotation, value, fmt.Sprintf("must be a number of restarts from 0 to %d", math.MaxInt32)))
		return 0
	}
	return int32(n)
}

func invalid(annotation, value, why string) *field.Error {
	return field.Invalid(field.NewPath("metadata", "annotations").Key(annotation), value, why)
}
