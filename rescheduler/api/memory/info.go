package memory

import (
	"encoding/json"
	"fmt"
)

// WorkloadInfo is the value of WorkloadAnnotation, for workloads of every kind (the design document's DeployInfo).
type WorkloadInfo struct {
	// CurrentReschedulingTimes is how often pods of the workload were moved.
	CurrentReschedulingTimes int `json:"currentReschedulingTimes"`
	// DeployScheduledHosts are names of nodes that replacements are kept away from.
	DeployScheduledHosts []string `json:"deployScheduledHosts"`
}

// PodInfo is the value of PodAnnotation, for pods without an owner.
type PodInfo struct {
	CurrentReschedulingTimes int      `json:"currentReschedulingTimes"`
	PodScheduledHosts        []string `json:"podScheduledHosts"`
}

// ParseWorkloadInfo reads the value of WorkloadAnnotation. Missing fields and null are zero; a negative count is 0; lists are as in
// ParseHosts. Errors as there.
func ParseWorkloadInfo(value string) (WorkloadInfo, error) {
	info, err := parseInfo[WorkloadInfo](WorkloadAnnotation, value)
	return info.within(), err
}

// Format is the value of WorkloadAnnotation.
func (i WorkloadInfo) Format() string { return text(i.within()) }

func (i WorkloadInfo) within() WorkloadInfo {
	return WorkloadInfo{max(0, i.CurrentReschedulingTimes), notNil(normal(i.DeployScheduledHosts))}
}

// ParsePodInfo reads the value of PodAnnotation, as ParseWorkloadInfo does that of a workload.
func ParsePodInfo(value string) (PodInfo, error) {
	info, err := parseInfo[PodInfo](PodAnnotation, value)
	return info.within(), err
}

// Format is the value of PodAnnotation.
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
