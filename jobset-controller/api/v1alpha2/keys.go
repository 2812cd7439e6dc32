package v1alpha2

// Keys that are set on every child Job and on its pod template, each as a label and as an annotation with the same
// value.
const (
	// JobSetNameKey holds the name of the JobSet. It is used by selectors. Ownership is determined by the UID.
	JobSetNameKey = "jobset.sigs.k8s.io/jobset-name"
	// JobSetUIDKey holds the UID of the JobSet.
	JobSetUIDKey = "jobset.sigs.k8s.io/jobset-uid"
	// ReplicatedJobNameKey holds the name of the replicatedJob.
	ReplicatedJobNameKey = "jobset.sigs.k8s.io/replicatedjob-name"
	// ReplicatedJobReplicas holds the number of Jobs of the replicatedJob.
	ReplicatedJobReplicas = "jobset.sigs.k8s.io/replicatedjob-replicas"
	// GlobalReplicasKey holds the number of Jobs of the whole JobSet.
	GlobalReplicasKey = "jobset.sigs.k8s.io/global-replicas"
	// JobIndexKey holds the index of the Job in its replicatedJob, from 0.
	JobIndexKey = "jobset.sigs.k8s.io/job-index"
	// JobGlobalIndexKey holds the index of the Job in the JobSet, from 0, across all replicatedJobs in spec order.
	JobGlobalIndexKey = "jobset.sigs.k8s.io/job-global-index"
	// JobKey holds the SHA-1 of "<namespace>/<job name>" in 40 hexadecimal digits, short enough for a label.
	JobKey = "jobset.sigs.k8s.io/job-key"
	// RestartsKey holds the value of status.restarts when the Job was created. A lower number marks a Job of an earlier
	// attempt.
	RestartsKey = "jobset.sigs.k8s.io/restart-attempt"
	// JobRestartsKey holds how often this single Job had been restarted when it was created. A number lower than the one
	// in the status marks a Job that was replaced. It is set if the RestartJob feature gate is enabled.
	JobRestartsKey = "jobset.sigs.k8s.io/job-restart-attempt"
	// GroupNameKey holds the groupName of the replicatedJob.
	GroupNameKey = "jobset.sigs.k8s.io/group-name"
	// GroupReplicasKey holds the number of Jobs of the group.
	GroupReplicasKey = "jobset.sigs.k8s.io/group-replicas"
	// JobGroupIndexKey holds the index of the Job in its group, from 0, across the group's replicatedJobs in spec order.
	JobGroupIndexKey = "jobset.sigs.k8s.io/job-group-index"
	// CoordinatorKey holds the network address of the coordinator pod. It is set only with spec.coordinator.
	CoordinatorKey = "jobset.sigs.k8s.io/coordinator"
)

// Annotations that users set.
const (
	// ExclusiveKey names a topology (a node label). Each Job gets a topology domain to itself. It is set on the JobSet,
	// or on the Job template of a replicatedJob, which takes precedence. It is copied to the Jobs and their pods.
	ExclusiveKey = "alpha.jobset.sigs.k8s.io/exclusive-topology"
	// NodeSelectorStrategyKey requests exclusive placement by node labels and taints that were set on the nodes
	// beforehand.
	NodeSelectorStrategyKey = "alpha.jobset.sigs.k8s.io/node-selector"
	// InPlaceTimeoutKey enables in-place restarts for a JobSet and limits their duration, for example to "60s". After
	// that time, all Jobs are recreated.
	InPlaceTimeoutKey = "alpha.jobset.sigs.k8s.io/inplace-timeout"
	// FormingTimeoutKey limits how long the workers of a JobSet with in-place restarts may take to join for the first
	// time, both at the start and after each recreation. It is a duration of 1 s or more, such as "10m". The default is
	// 30 minutes. After that time, the pods of missing workers are replaced once; after that, all Jobs are recreated.
	// The clock is paused while the JobSet or a Job is suspended, or a pod is unscheduled.
	FormingTimeoutKey = "holdfast.dev/forming-timeout"
	// MaxRestartDelayKey limits how long the workers of a JobSet that restarts in place are delayed before they start.
	// They are delayed if restarts occur within a minute after the workers began to run: by 1 s from the third restart on,
	// then 2 s, 4 s and so on. It is a duration such as "5m". The default is 32 seconds. With "0s", workers are never
	// delayed. It affects only the exec driver.
	MaxRestartDelayKey = "holdfast.dev/max-restart-delay"
	// InPlaceDriverKey is the driver for the workers of a JobSet that enables in-place restarts and does not include
	// its own agent: "exec" (the default; a supervisor in the worker's container), "cri" (a sidecar that uses the
	// node's container runtime) or "none". It is set on the JobSet, or on the Job template of a replicatedJob, which
	// takes precedence.
	InPlaceDriverKey = "holdfast.dev/inplace-driver"
	// SparesKey is the number of spares of each replicatedJob: pods waiting on nodes of their own to take over the slot
	// of a lost pod immediately. It requires in-place restarts with the exec driver. It is set on the JobSet, or on the
	// Job template of a replicatedJob, which takes precedence. Kueue counts spares only with StageQueueKey.
	SparesKey = "holdfast.dev/spares"
	// StageQueueKey names a Kueue LocalQueue in which each Job of the JobSet waits individually once it may start, so that
	// the quota of a later stage is not reserved while an earlier one is running. Without it, a JobSet with QueueNameLabel
	// waits as a whole for the quota of all stages.
	StageQueueKey = "holdfast.dev/stage-queue"
	// InPlaceContainerKey names the container to restart if a pod has several. It is set on the JobSet, or on the Job
	// template of a replicatedJob, which takes precedence.
	InPlaceContainerKey = "holdfast.dev/inplace-container"
	// NodeLostAfterKey is how long a node's kubelet must be silent (a duration of 10 s or more) before the node is
	// considered switched off. Terminating pods on such a node are force-deleted, and their slots get new pods. Without
	// it, this happens only if the node was deleted from the API server or has the node.kubernetes.io/out-of-service
	// taint. The orchestrator reads it, for groups with in-place restarts; compare StuckPodTimeoutKey.
	NodeLostAfterKey = "holdfast.dev/node-lost-after"
	// ProgressTimeoutKey enables hang detection: a worker that reports no progress for this long, for example "2m", is
	// killed, and its group restarts in place. It requires the exec driver. It is set on the JobSet, or on the Job
	// template of a replicatedJob, which takes precedence. The same applies to the next two keys.
	ProgressTimeoutKey = "holdfast.dev/progress-timeout"
	// ProgressStartTimeoutKey limits the time from a worker's start to its first progress report. Without it, the clock
	// starts with that report.
	ProgressStartTimeoutKey = "holdfast.dev/progress-start-timeout"
	// ProgressFromKey is the source of progress reports: "file" (the default; the worker touches
	// HOLDFAST_PROGRESS_FILE) or "output" (it writes anything to its standard output or error).
	ProgressFromKey = "holdfast.dev/progress-from"
	// StuckPodTimeoutKey enables the removal of stuck pods for a JobSet. The value is a duration such as "60s". A pod
	// that should have terminated that long ago is deleted without waiting for its kubelet, if its node is known to be
	// dead. The manager reads it, for all JobSets.
	StuckPodTimeoutKey = "holdfast.dev/stuck-pod-timeout"
)

// Keys with which pods of any owner declare a group. The pod with index 0 leads the group: its annotations configure
// the group, and the group ends when the pod is gone.
const (
	// PodGroupKey is a label with the name of the pod with index 0, on all pods of the group.
	PodGroupKey = "holdfast.dev/group-name"
	// PodGroupSizeKey is an annotation with the number of pods, the same on all pods of the group.
	PodGroupSizeKey = "holdfast.dev/group-size"
	// PodGroupIndexKey is a label with the index of the pod, from 0. Without it, the label apps.kubernetes.io/pod-index of
	// StatefulSets is used.
	PodGroupIndexKey = "holdfast.dev/group-index"
)

// Keys for restartStrategy InPlaceRestart.
const (
	// InPlaceAttemptKey is set by an agent on its pod. Its value is the attempt in which the agent participates.
	InPlaceAttemptKey = "jobset.sigs.k8s.io/in-place-restart-attempt"
	// DisableInPlaceRestartKey makes the agents of a JobSet start their workers immediately. Users set it on the JobSet
	// to any value.
	DisableInPlaceRestartKey = "jobset.sigs.k8s.io/disable-in-place-restart"
)

// Keys that Holdfast's programs set.
const (
	// InPlaceRestartsKey is set on the JobSet by the orchestrator. Its value is the number of restarts counted so far
	// against the budget, both in place and by recreation. If it exceeds failurePolicy.maxRestarts, the JobSet fails.
	InPlaceRestartsKey = "alpha.jobset.sigs.k8s.io/inplace-restarts"
	// WrittenForKey is set on the JobSet together with any annotation of the manager or the orchestrator. Its value is
	// the UID of the JobSet. If it does not match the JobSet's own UID, the annotations were copied from another JobSet
	// and are removed.
	WrittenForKey = "holdfast.dev/written-for"
	// LedByKey is set where the upstream controller manages JobSets: by the webhook on Jobs and by the orchestrator on
	// the JobSet. Its value names the installation that leads the group: "<namespace>/<Lease of the orchestrator>".
	// Other installations ignore the group.
	LedByKey = "holdfast.dev/led-by"
	// MaxRestartsKey limits the restarts of a group whose owner has no field for this limit. Users set it on the pod
	// with index 0, or on a JobSet of the upstream controller without a failure policy. On a Job that forms a group of
	// its own, the webhook for Jobs copies the user's spec.backoffLimit to it and then raises backoffLimit, because the
	// Job controller counts restarted containers towards backoffLimit.
	MaxRestartsKey = "holdfast.dev/max-restarts"
	// GroupKindKey is a label on pods prepared by the webhooks. Its value is the kind of the group's owner: JobSet,
	// Job, or Pod for a group declared by its pods.
	GroupKindKey = "holdfast.dev/group-kind"
	// RefusedKey is set by the pod webhook on a pod that declares a group but does not get an agent. Its value is the
	// reason.
	RefusedKey = "holdfast.dev/refused"
	// SlotKey is set on pods by the orchestrator. Its value is the slot that was assigned to a spare, or "-" on a pod
	// that is waiting because its own slot was assigned to another pod.
	SlotKey = "holdfast.dev/slot"
	// SlotWaits is the value of SlotKey on a waiting pod.
	SlotWaits = "-"
	// SlotsKey is set on Jobs of a JobSet with spares whose pods have an agent: SlotsFollow or SlotsAny.
	SlotsKey = "holdfast.dev/slots"
	// SlotsFollow means that the workers of a Job can reach a worker that runs in a spare.
	SlotsFollow = "follow"
	// SlotsAny means that the workers of a Job can also work in any slot of their replicatedJob.
	SlotsAny = "any"
	// InPlaceInjectionKey is set on Jobs: "true" if agents are added to the Jobs of the attempt, "false" if they could
	// not be added. It is absent if the JobSet does not request agents. The decision made for the first Job of an
	// attempt applies to all of them.
	InPlaceInjectionKey = "holdfast.dev/inplace-injection"
	// PriorityKey is a label on pods placed exclusively by the pod webhook. Its value is the pod's priority. Pods with
	// another priority do not keep them out of a domain, so that the scheduler can preempt those pods. The upstream
	// controller sets it on all pods of JobSets.
	PriorityKey = "jobset.sigs.k8s.io/priority"
	// CarriedSpecKey is set on JobSets by the webhook. It contains the policies with parts that do not exist in the
	// upstream types. MultiKueue uses the upstream types when it copies a JobSet, including the annotation, to the
	// cluster in which it will run, and the webhook there restores these parts.
	CarriedSpecKey = "holdfast.dev/carried-spec"
	// NamespacedJobKey is the node label and node selector of the node selector strategy. The value is
	// "<namespace>_<job name>".
	NamespacedJobKey = "alpha.jobset.sigs.k8s.io/namespaced-job"
	// NoScheduleTaintKey is the taint on nodes reserved by the node selector strategy.
	NoScheduleTaintKey = "alpha.jobset.sigs.k8s.io/no-schedule"
)

// Kueue labels.
const (
	// QueueNameLabel names the LocalQueue in which an object is waiting.
	QueueNameLabel = "kueue.x-k8s.io/queue-name"
	// PriorityClassLabel names the WorkloadPriorityClass of a waiting object.
	PriorityClassLabel = "kueue.x-k8s.io/priority-class"
	// PodSetLabel is set on the pod templates of an object that Kueue has admitted.
	PodSetLabel = "kueue.x-k8s.io/podset"
)

// MultiKueueOriginLabel is set on the copies of objects that MultiKueue creates in other clusters.
const MultiKueueOriginLabel = "kueue.x-k8s.io/multikueue-origin"

// JobSetControllerName is the value of spec.managedBy for this controller.
const JobSetControllerName = "jobset.sigs.k8s.io/jobset-controller"
