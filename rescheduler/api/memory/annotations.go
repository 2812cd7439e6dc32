package memory

import (
	"fmt"
	"strconv"
	"strings"
)

// Annotations. The design document defines the first four.
const (
	RetriesAnnotation  = "schedulingRetries"
	WorkloadAnnotation = "sigs.k8s.io/deploy"
	HostsAnnotation    = "sigs.k8s.io/scheduledHosts"
	PodAnnotation      = "sigs.k8s.io/pod" // the document defines the type, but not the name

	// Annotation holds what the annotations of the document have no place for: a record with reasons and times.
	Annotation = "holdfast.dev/rescheduling"
)

// FilterMessage is the scheduler plugin's message about an excluded node. It appears in the condition PodScheduled of a pod that fits
// nowhere, from which the controller knows that exclusions are involved.
const FilterMessage = "node(s) on which the pod's workload has failed"

// MaxRetries is the maximum of RetriesAnnotation. Larger values count as MaxRetries.
const MaxRetries = 10000

// Retries returns how many moves the annotations of a workload allow. asked reports whether the annotation is set; a workload without it is
// left alone. It fails if the value is not a number or is negative; asked is false then.
func Retries(annotations map[string]string) (retries int, asked bool, err error) {
	value, found := annotations[RetriesAnnotation]
	if !found {
		return 0, false, nil
	}
	retries, err = strconv.Atoi(strings.TrimSpace(value))
	if err != nil || retries < 0 {
		return 0, false, fmt.Errorf("%s: %.40q is not a whole number of 0 or more", RetriesAnnotation, value)
	}
	return min(retries, MaxRetries), true, nil
}

// Next returns the count after one more move, and whether that exceeds the retries. If so, the pod is not moved, the count stays, and all
// exclusions are lifted. So a workload has at most `retries` moves. The design document moves before it compares, which allows one more.
func Next(times, retries int) (next int, exhausted bool) {
	next = max(0, times) + 1
	return next, next > retries
}
