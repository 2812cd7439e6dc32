package memory

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Limits of the values. All annotations of an object share 256 KiB.
const (
	MaxHosts      = 50        // maximum number of excluded nodes of a pod
	MaxHostsBytes = 16 << 10  // maximum length of a list of nodes; MaxHosts of the longest names fit
	MaxBytes      = 128 << 10 // maximum length of a Memory
	maxNodeName   = 253
)

// ErrTooLarge means that a value exceeds its limit.
var ErrTooLarge = errors.New("the value is too large")

// ParseHosts parses the value of HostsAnnotation, a JSON array of node names; null is an empty list. It returns the first MaxHosts names,
// sorted and without duplicates, and drops what is not a valid node name. It fails if the value is not such an array, or with ErrTooLarge.
// Callers then treat the annotation as absent.
func ParseHosts(value string) ([]string, error) {
	if len(value) > MaxHostsBytes {
		return nil, fmt.Errorf("%s: %w: %d bytes, at most %d", HostsAnnotation, ErrTooLarge, len(value), MaxHostsBytes)
	}
	var hosts []string
	if err := json.Unmarshal([]byte(value), &hosts); err != nil {
		return nil, fmt.Errorf("%s: not a JSON array of node names: %w", HostsAnnotation, err)
	}
	return normal(hosts), nil
}

// Hosts returns the nodes that the annotations of a pod exclude. It returns none if the annotation is absent or invalid.
func Hosts(annotations map[string]string) []string {
	value, found := annotations[HostsAnnotation]
	if !found {
		return nil
	}
	hosts, err := ParseHosts(value)
	if err != nil {
		return nil
	}
	return hosts
}

// FormatHosts returns the value of HostsAnnotation, within its limits.
func FormatHosts(hosts []string) string { return text(notNil(normal(hosts))) }

// MergeHosts returns the union of two lists, within the limits. If there are too many names, those of the first list take precedence.
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

// normal returns the valid names, sorted and without duplicates. It does not modify hosts.
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

// notNil returns an empty list for nil, so that it is encoded as [] and not as null.
func notNil(hosts []string) []string {
	if hosts == nil {
		return []string{}
	}
	return hosts
}

// text encodes a value of our own, which never fails.
func text(value any) string {
	content, err := json.Marshal(value)
	if err != nil {
		panic(err) // strings, numbers and times of our own
	}
	return string(content)
}
