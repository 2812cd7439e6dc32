package memory

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Annotations. The design document defines the first four.
const (
	RetriesAnnotation  = "schedulingRetries"
	WorkloadAnnotation = "sigs.k8s.io/deploy"
	HostsAnnotation    = "sigs.k8s.io/scheduledHosts"
	PodAnnotation      = "sigs.k8s.io/pod" // the document defines the type, but not the name

	// Annotation holds a record with reasons and times, for which the annotations of the design document have no fields.
	Annotation = "holdfast.dev/rescheduling"

	// HostsPath is the JSON pointer to HostsAnnotation of a pod.
	HostsPath = "/metadata/annotations/sigs.k8s.io~1scheduledHosts"
)

// FilterMessage is the scheduler plugin's message about an excluded node. The scheduler includes it in the PodScheduled condition of a pod
// that fits nowhere. The controller uses it to detect that exclusions are involved.
const FilterMessage = "node(s) on which the pod's workload has failed"

// MaxRetries is the maximum of RetriesAnnotation. Larger values are treated as MaxRetries.
const MaxRetries = 10000

// Retries returns how many moves a workload's annotations allow. asked reports whether the annotation is set. Pods of a workload without
// it are not moved. If the value is not a number or is negative, Retries returns an error, and asked is false.
func Retries(annotations map[string]string) (retries int, asked bool, err error) {
	value, found := annotations[RetriesAnnotation]
	if !found {
		return 0, false, nil
	}
	retries, err = strconv.Atoi(strings.TrimSpace(value))
	if err != nil || retries < 0 {
		return 0, false, fmt.Errorf("%s: %.40q is not a non-negative integer", RetriesAnnotation, value)
	}
	return min(retries, MaxRetries), true, nil
}

// workloadInfo is the value of WorkloadAnnotation, for workloads of all kinds (DeployInfo in the design document).
type workloadInfo struct {
	Times int      `json:"currentReschedulingTimes"` // number of moves so far
	Hosts []string `json:"deployScheduledHosts"`     // nodes that replacements must avoid
}

// podInfo is the value of PodAnnotation, for pods without an owner.
type podInfo struct {
	Times int      `json:"currentReschedulingTimes"`
	Hosts []string `json:"podScheduledHosts"`
}

// parseInfo parses the value of WorkloadAnnotation or PodAnnotation. Missing fields and null are zero. ok is false if the value is invalid
// or longer than MaxHostsBytes.
func parseInfo[T workloadInfo | podInfo](value string) (info T, ok bool) {
	if len(value) > MaxHostsBytes || json.Unmarshal([]byte(value), &info) != nil {
		return *new(T), false
	}
	return info, true
}

// Limits of the values. All annotations of an object share 256 KiB.
const (
	MaxHosts      = 50        // maximum number of excluded nodes of a pod
	MaxHostsBytes = 16 << 10  // maximum length of a list of nodes; MaxHosts of the longest names fit
	MaxBytes      = 128 << 10 // maximum length of a Memory
	maxNodeName   = 253
)

// ParseHosts parses the value of HostsAnnotation, a JSON array of node names; null is an empty list. It drops invalid node names and
// returns the first MaxHosts names, sorted and without duplicates. It fails if the value is too large or not such an array. Callers then
// treat the annotation as absent.
func ParseHosts(value string) ([]string, error) {
	if len(value) > MaxHostsBytes {
		return nil, fmt.Errorf("%s: the value is too large: %d bytes, at most %d", HostsAnnotation, len(value), MaxHostsBytes)
	}
	var hosts []string
	if err := json.Unmarshal([]byte(value), &hosts); err != nil {
		return nil, fmt.Errorf("%s: not a JSON array of node names: %w", HostsAnnotation, err)
	}
	return normal(hosts), nil
}

// Hosts returns the nodes that a pod's annotations exclude. It returns none if the annotation is absent or invalid.
func Hosts(annotations map[string]string) []string {
	hosts, _ := ParseHosts(annotations[HostsAnnotation])
	return hosts
}

// FormatHosts returns the value of HostsAnnotation, limited to MaxHosts and MaxHostsBytes.
func FormatHosts(hosts []string) string { return text(normal(hosts)) }

// MergeHosts returns the union of two lists, limited to MaxHosts names. If there are more, those of the first list take precedence.
func MergeHosts(first, second []string) []string {
	merged := normal(first)
	for _, host := range normal(second) {
		if len(merged) < MaxHosts && !slices.Contains(merged, host) {
			merged = append(merged, host)
		}
	}
	slices.Sort(merged)
	return merged
}

// normal returns the valid names, sorted and without duplicates. It does not modify hosts. The result is never nil, so that it is encoded
// as [] and not as null.
func normal(hosts []string) []string {
	kept := make([]string, 0, len(hosts))
	for _, host := range hosts {
		if host != "" && len(host) <= maxNodeName {
			kept = append(kept, host)
		}
	}
	slices.Sort(kept)
	kept = slices.Compact(kept)
	return kept[:min(len(kept), MaxHosts)]
}

// text encodes a value of one of the types in this package, for which encoding never fails.
func text(value any) string {
	content, err := json.Marshal(value)
	if err != nil {
		panic(err) // impossible: the values hold only strings, numbers and valid times
	}
	return string(content)
}
