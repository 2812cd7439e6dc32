package memory

import (
	"encoding/json"
	"fmt"
)

// WorkloadInfo is the value of WorkloadAnnotation, for workloads of all kinds (DeployInfo in the design document).
type WorkloadInfo struct {
	// CurrentReschedulingTimes is the number of moves.
	CurrentReschedulingTimes int `json:"currentReschedulingTimes"`
	// DeployScheduledHosts are the nodes that replacements must avoid.
	DeployScheduledHosts []string `json:"deployScheduledHosts"`
}

// PodInfo is the value of PodAnnotation, for pods without an owner.
type PodInfo struct {
	CurrentReschedulingTimes int      `json:"currentReschedulingTimes"`
	PodScheduledHosts        []string `json:"podScheduledHosts"`
}

// ParseWorkloadInfo parses the value of WorkloadAnnotation. Missing fields and null are zero, and a negative count is 0. Lists and errors
// are as in ParseHosts.
func ParseWorkloadInfo(value string) (WorkloadInfo, error) {
	info, err := parseInfo[WorkloadInfo](WorkloadAnnotation, value)
	return info.within(), err
}

// Format returns the value of WorkloadAnnotation.
func (i WorkloadInfo) Format() string { return text(i.within()) }

func (i WorkloadInfo) within() WorkloadInfo {
	return WorkloadInfo{max(0, i.CurrentReschedulingTimes), notNil(normal(i.DeployScheduledHosts))}
}

// ParsePodInfo parses the value of PodAnnotation, as ParseWorkloadInfo does for workloads.
func ParsePodInfo(value string) (PodInfo, error) {
	info, err := parseInfo[PodInfo](PodAnnotation, value)
	return info.within(), err
}

// Format returns the value of PodAnnotation.
func (i PodInfo) Format() string { return text(i.within()) }

func (i PodInfo) within() PodInfo {
	return PodInfo{max(0, i.CurrentReschedulingTimes), notNil(normal(i.PodScheduledHosts))}
}

func parseInfo[T any](name, value string) (info T, err error) {
	var none T
	if len(value) > MaxHostsBytes {
		return none, fmt.Errorf("%s: %w: %d bytes, at most %d", name, ErrTooLarge, len(value), MaxHostsBytes)
	}
	if err := json.Unmarshal([]byte(value), &info); err != nil {
		return none, fmt.Errorf("%s: %w", name, err)
	}
	return info, nil
}
