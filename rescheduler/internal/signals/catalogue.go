package signals

import (
	"strings"
	"time"
)

// Table holds the rows in the order in which they are matched.
type Table []Row

// Default returns the catalogue. Rows that forbid a move come first.
func Default() Table {
	return append(append(append(forbidden(), rejected()...), killed()...), containers()...)
}

// forbidden has the signals that another node would not fix.
func forbidden() Table {
	return Table{
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
	}
}

// rejected has the reasons of pods that the kubelet rejected before they ran: phase Failed with a reason, no conditions and no container
// statuses.
func rejected() Table {
	return Table{
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
		free(admission("NodeShutdown", 10*time.Minute, 0, "NodeShutdown")),
	}
}

// killed has the reasons of pods that the node or the cluster stopped. The pod is not at fault, so nothing is charged.
func killed() Table {
	pressure := free(admission("NodePressure", 10*time.Minute, 0, "Evicted"))
	pressure.Message = func(m string) bool { return !ownLimit(m) }
	return Table{
		pressure,
		free(admission("GracefulShutdown", 10*time.Minute, 0, "Terminated")),
		free(admission("KubeletPreemption", 5*time.Minute, 0, "Preempting")),
		{
			Name: "DeviceTaint", Where: Disruption, Reasons: []string{"DeletionByDeviceTaintManager"},
			Trigger: Always, Action: Record, Scope: Workload, TTL: 10 * time.Minute,
		},
		{
			Name: "TerminatedByKubelet", Where: Disruption, Reasons: []string{"TerminationByKubelet"},
			Trigger: Always, Action: Record, Scope: Workload, TTL: 10 * time.Minute,
		},
	}
}

// containers has the signals of containers in bound pods.
func containers() Table {
	return Table{
		{
			Name: "HandedOver", Where: Handover,
			Trigger: Always, Action: Record, Scope: Slot, TTL: 30 * time.Minute, Charged: true,
		},
		{
			Name: "FailsInPlace", Where: Repeat,
			Trigger: Always, Action: Record, Scope: Slot, Restarts: 3, TTL: 30 * time.Minute,
		},
		{
			Name: "ContainerLost", Where: Container, Reasons: []string{"ContainerStatusUnknown"},
			Trigger: Always, Action: Move, Scope: Workload, TTL: 10 * time.Minute, Charged: true, Blame: 1,
		},
		{
			Name: "OOMKilled", Where: Loop, Reasons: []string{"OOMKilled"},
			Trigger: Annotated, Action: Move, Scope: Slot, Restarts: 2, TTL: 30 * time.Minute, Charged: true, Siblings: true,
		},
		{
			Name: "CrashLoopBackOff", Where: Loop, Reasons: []string{"*"},
			Trigger: Annotated, Action: Move, Scope: Slot, Restarts: 5, After: 10 * time.Minute, TTL: 30 * time.Minute, Charged: true, Siblings: true,
		},
		{
			Name: "PostStartHook", Where: Container, Reasons: []string{"PostStartHookError"},
			Trigger: Annotated, Action: Move, Scope: Slot, After: 10 * time.Minute, TTL: 30 * time.Minute, Charged: true, Siblings: true,
		},
		{
			Name: "RuntimeError", Where: Container, Reasons: []string{
				"CreateContainerError", "RunContainerError", "StartError", "ContainerCannotRun", "PreCreateHookError", "PreStartHookError",
				"CreatePodSandboxError", "KillPodSandboxError", "ConfigPodSandboxError",
			},
			Trigger: Always, Action: Move, Scope: Workload, After: 3 * time.Minute, TTL: 15 * time.Minute, Charged: true, Siblings: true, Blame: 1,
		},
		{
			// A volume that another node still holds is detached by force after 6 minutes. This node is not at fault.
			Name: "SandboxNotReady", Where: Sandbox,
			Trigger: Always, Action: Move, Scope: Workload, After: 10 * time.Minute, TTL: 15 * time.Minute, Charged: true, Siblings: true, Blame: 1,
		},
		{
			Name: "DeviceUnhealthy", Where: Device, Reasons: []string{"Unhealthy"},
			Trigger: Off, Action: Move, Scope: Workload, After: time.Minute, TTL: 30 * time.Minute, Charged: true, Blame: 3,
		},
		{
			Name: "ExitCode", Where: Container, Reasons: []string{"Error"},
			Trigger: Off, Action: Move, Scope: Slot, TTL: 30 * time.Minute, Charged: true, Siblings: true,
		},
	}
}

func admission(name string, ttl time.Duration, blame int, reasons ...string) Row {
	return Row{
		Name: name, Where: Phase, Reasons: reasons,
		Trigger: Always, Action: Move, Scope: Workload, TTL: ttl, Charged: true, Blame: blame,
	}
}

func free(r Row) Row { r.Action, r.Charged = Record, false; return r }

// ownLimit reports whether the kubelet evicted a pod because it exceeded its own limit. If the node was short of a resource, the message
// begins with that.
func ownLimit(message string) bool { return message != "" && !strings.HasPrefix(message, "The node ") }
