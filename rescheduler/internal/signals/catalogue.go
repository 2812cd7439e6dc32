// Package signals detects abnormal states of a pod. Its table has one row for each kind of failure, and the package returns the rows that a
// pod matches. Package policy decides what to do about a match. The package performs no I/O.
//
// Source of the reasons: the kubelet's admission handlers, its eviction and shutdown managers and its container states (Kubernetes 1.36).
package signals

import (
	"slices"
	"strings"
	"time"
)

// Table holds the rows in the order in which they are matched.
type Table []Row

// Default returns the catalogue.
func Default() Table { return slices.Clone(catalogue) }

var catalogue = Table{
	// Signals that moving to another node would not fix. They forbid a move, so they come first.
	{Name: "DeadlineExceeded", Where: Phase, Reasons: []string{"DeadlineExceeded"}, Trigger: Always, Action: Never},
	{Name: "OwnStorageLimit", Where: Phase, Reasons: []string{"Evicted"}, Message: ownLimit, Trigger: Always, Action: Never},
	{
		Name: "Disrupted", Where: Disruption, Trigger: Always, Action: Never,
		Reasons: []string{"PreemptionByScheduler", "DeletionByTaintManager", "DeletionByPodGC", "EvictionByEvictionAPI"},
	},
	{
		Name: "ConfigError", Where: Container, Trigger: Always, Action: Never,
		Reasons: []string{"CreateContainerConfigError", "InvalidImageName"},
	},

	// Reasons of pods that the kubelet rejected before they ran: they are in the Failed phase, with a reason, no conditions and no container
	// statuses.
	admission("AdmissionError", 15*time.Minute, 3, "UnexpectedAdmissionError"),
	admission("TopologyAffinity", 30*time.Minute, 0, "TopologyAffinityError"),
	admission("SMTAlignment", 30*time.Minute, 0, "SMTAlignmentError"),
	admission("EmptySharedPool", 30*time.Minute, 0, "EmptyPodSharedPoolError"),
	admission("OutOfResource", 2*time.Minute, 0, "OutOfcpu", "OutOfmemory", "OutOfephemeral-storage", "OutOfpods"),
	admission("OutOfExtendedResource", 2*time.Minute, 1, "OutOf*"),
	admission("NodeMismatch", 2*time.Minute, 0, "NodeAffinity", "NodeName", "NodePorts", "TaintToleration"),
	admission("NodeFeature", 6*time.Hour, 0,
		"PodOSSelectorNodeLabelDoesNotMatch", "PodOSNotSupported", "SupplementalGroupsPolicyNotSupported", "PodLevelResourcesNotSupported",
		"PodFeatureUnsupported", "AppArmor", "SysctlForbidden", "InitContainerRestartPolicyForbidden"),
	admission("AdmissionInternal", 10*time.Minute, 1, "InvalidNodeInfo", "UnknownReason", "UnexpectedPredicateFailureType"),
	admission("VolumeLimit", 10*time.Minute, 0, "VolumeAttachmentLimitExceeded"),
	stopped("NodeShutdown", Phase, 10*time.Minute, "NodeShutdown"),

	// Reasons of pods that were stopped by the node or the cluster. The pod is not at fault, so no move is counted.
	{
		Name: "NodePressure", Where: Phase, Reasons: []string{"Evicted"}, Message: func(m string) bool { return !ownLimit(m) },
		Trigger: Always, Action: Record, TTL: 10 * time.Minute,
	},
	stopped("GracefulShutdown", Phase, 10*time.Minute, "Terminated"),
	stopped("KubeletPreemption", Phase, 5*time.Minute, "Preempting"),
	stopped("DeviceTaint", Disruption, 10*time.Minute, "DeletionByDeviceTaintManager"),
	stopped("TerminatedByKubelet", Disruption, 10*time.Minute, "TerminationByKubelet"),

	// Signals of containers in bound pods.
	{
		Name: "FailsInPlace", Where: Repeat,
		Trigger: Always, Action: Record, BySlot: true, Restarts: 3, TTL: 30 * time.Minute,
	},
	{
		Name: "ContainerLost", Where: Container, Reasons: []string{"ContainerStatusUnknown"},
		Trigger: Always, Action: Move, TTL: 10 * time.Minute, Charged: true, Blame: 1,
	},
	{
		Name: "OOMKilled", Where: Loop, Reasons: []string{"OOMKilled"},
		Trigger: Annotated, Action: Move, BySlot: true, Restarts: 2, TTL: 30 * time.Minute, Charged: true, Siblings: true,
	},
	{
		Name: "CrashLoopBackOff", Where: Loop, Reasons: []string{"*"},
		Trigger: Annotated, Action: Move, BySlot: true, Restarts: 5, After: 10 * time.Minute, TTL: 30 * time.Minute, Charged: true, Siblings: true,
	},
	{
		Name: "PostStartHook", Where: Container, Reasons: []string{"PostStartHookError"},
		Trigger: Annotated, Action: Move, BySlot: true, After: 10 * time.Minute, TTL: 30 * time.Minute, Charged: true, Siblings: true,
	},
	{
		Name: "RuntimeError", Where: Container, Reasons: []string{
			"CreateContainerError", "RunContainerError", "StartError", "ContainerCannotRun", "PreCreateHookError", "PreStartHookError",
			"CreatePodSandboxError", "KillPodSandboxError", "ConfigPodSandboxError",
		},
		Trigger: Always, Action: Move, After: 3 * time.Minute, TTL: 15 * time.Minute, Charged: true, Siblings: true, Blame: 1,
	},
	{
		// A volume that is still attached to another node is detached by force after 6 minutes. This node is not at fault.
		Name: "SandboxNotReady", Where: Sandbox,
		Trigger: Always, Action: Move, After: 10 * time.Minute, TTL: 15 * time.Minute, Charged: true, Siblings: true, Blame: 1,
	},
	{
		Name: "DeviceUnhealthy", Where: Device, Reasons: []string{"Unhealthy"},
		Trigger: Off, Action: Move, After: time.Minute, TTL: 30 * time.Minute, Charged: true, Blame: 3,
	},
	{
		Name: "ExitCode", Where: Container, Reasons: []string{"Error"},
		Trigger: Off, Action: Move, BySlot: true, TTL: 30 * time.Minute, Charged: true, Siblings: true,
	},
}

func admission(name string, ttl time.Duration, blame int, reasons ...string) Row {
	return Row{
		Name: name, Where: Phase, Reasons: reasons,
		Trigger: Always, Action: Move, TTL: ttl, Charged: true, Blame: blame,
	}
}

func stopped(name string, where Where, ttl time.Duration, reason string) Row {
	return Row{Name: name, Where: where, Reasons: []string{reason}, Trigger: Always, Action: Record, TTL: ttl}
}

// ownLimit reports whether the kubelet evicted a pod because it exceeded its own limit. If instead the node was short of a resource, the
// message begins with "The node ".
func ownLimit(message string) bool { return message != "" && !strings.HasPrefix(message, "The node ") }

// Trigger selects the workloads to which a row applies.
type Trigger string

const (
	Always    Trigger = "Always"    // all managed workloads
	Annotated Trigger = "Annotated" // workloads that set schedulingRetries themselves
	Off       Trigger = "Off"
)

// Action is what a row allows.
type Action string

const (
	// Move excludes the node and moves the pod: by eviction, or by its controller if the pod has failed.
	Move Action = "Move"
	// Record excludes the node for replacements and leaves the pod in place.
	Record Action = "Record"
	// Never forbids moving the pod while the signal lasts, regardless of other signals, because the node is not at fault.
	Never Action = "Never"
)

// Where is the part of the pod status that a row matches.
type Where int

const (
	Phase      Where = iota // status.reason of a pod in the Failed phase
	Disruption              // reason of the DisruptionTarget condition
	Container               // reason of a waiting or terminated container
	Loop                    // a container in a crash loop
	Sandbox                 // the PodReadyToStartContainers condition: no sandbox, network or volumes
	Device                  // device health in a container status
	Repeat                  // a member of a group that keeps restarting in place on the same node
)

// Row is one kind of failure. All fields can be configured except for Name and what the row matches.
type Row struct {
	Name    string
	Where   Where
	Reasons []string // any of these; a trailing * matches any suffix
	Message func(message string) bool
	Trigger Trigger
	Action  Action
	// BySlot means that the exclusion applies to pods of the same slot, if the pod has one, because others may run there. Otherwise it applies
	// to all pods of the workload, because the node cannot run them.
	BySlot bool
	// After is how long the signal must last.
	After time.Duration
	// Restarts is the minimum number of container restarts, for Loop and Repeat.
	Restarts int32
	// ExitCodes lists the exit codes of terminated containers that match; empty means all except 0.
	ExitCodes []int32
	// TTL is how long the node is excluded after the first failure. It is 0 only if Action is Never.
	TTL time.Duration
	// Charged means that a move counts against the workload's limit. It is false if the pod is not at fault.
	Charged bool
	// Siblings means that pods of the same template on other nodes are evidence for or against the node.
	Siblings bool
	// Blame is the weight of the complaint about the node.
	Blame int
}

// Instant reports whether the row depends neither on elapsed time nor on other pods, so that it applies immediately.
func (r Row) Instant() bool {
	return (r.Where == Phase || r.Where == Disruption) && r.After == 0 && r.Action != Never
}
