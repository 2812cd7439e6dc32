package memory

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Bounds of the values. All annotations of an object share 256 KiB.
const (
	MaxHosts      = 50        // nodes that one pod is kept away from
	MaxHostsBytes = 16 << 10  // of a list of nodes: MaxHosts of the longest names fit
	MaxBytes      = 128 << 10 // of a Memory
	maxNodeName   = 253
)

// ErrTooLarge is the error about a value that is longer than its bound.
var ErrTooLarge = errors.New("the value is too large")

// ParseHosts reads the value of HostsAnnotation: a JSON array of node names. null is an empty list. The names come back
// sorted and once each; at most MaxHosts of them, the first ones. What cannot be a node's name is left out. Errors: not such
// an array, and ErrTooLarge. Whoever gets one treats the annotation as absent.
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

// Hosts are those that the annotations of a pod exclude: none if there is no such annotation or it cannot be read.
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

// FormatHosts is the value of HostsAnnotation, within its bounds.
func FormatHosts(hosts []string) string { return text(notNil(normal(hosts))) }

// MergeHosts is the union of two lists within the bounds; names of the first list come before those of the second when there are too many.
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

// normal leaves hosts as they are.
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

// notNil: an empty list is written as [], not as null.
func notNil(hosts []string) []string {
	if hosts == nil {
		return []string{}
	}
	return hosts
}

// text is the JSON of a value that always has one.
func text(value any) string {
	content, err := json.Marshal(value)
	if err != nil {
		panic(err) // strings, numbers and times of our own
	}
	return string(content)
}
