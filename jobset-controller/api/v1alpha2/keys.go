package v1alpha2

// Keys written on every child Job and on its pod template, each as a label and as an annotation with the same value.
const (
	// JobSetNameKey holds the name of the JobSet. Selectors use it; ownership is decided by UID.
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
	// JobGlobalIndexKey holds the index of the Job in the JobSet, from 0, counted through all replicatedJobs in spec order.
	JobGlobalIndexKey = "jobset.sigs.k8s.io/job-global-index"
	// JobKey holds the SHA-1 of "<namespace>/<job name>" in 40 hexadecimal digits, short enough for a label.
	JobKey = "jobset.sigs.k8s.io/job-key"
	// RestartsKey holds status.restarts as it was when the Job was created. A lower number marks a Job of an earlier attempt.
	RestartsKey = "jobset.sigs.k8s.io/restart-attempt"
	// JobRestartsKey holds how often this single Job was restarted when it was created. A lower number than the status has marks
	// a Job that was replaced. Written with the feature gate RestartJob.
	JobRestartsKey = "jobset.sigs.k8s.io/job-restart-attempt"
	// GroupNameKey holds groupName of the replicatedJob.
	GroupNameKey = "jobset.sigs.k8s.io/group-name"
	// GroupReplicasKey holds the number of Jobs of the group.
	GroupReplicasKey = "jobset.sigs.k8s.io/group-replicas"
	// JobGroupIndexKey holds the index of the Job in its group, from 0, counted through its replicatedJobs in spec order.
	JobGroupIndexKey = "jobset.sigs.k8s.io/job-group-index"
	// CoordinatorKey holds the network address of the coordinator pod; only with spec.coordinator.
	CoordinatorKey = "jobset.sigs.k8s.io/coordinator"
)

// Annotations that users set.
const (
	// ExclusiveKey names a topology (a node label) of which each Job gets one domain for itself. Set on the JobSet or on the
	// Job template of a replicatedJob; the latter wins. Copied to the Jobs and their pods.
	ExclusiveKey = "alpha.jobset.sigs.k8s.io/exclusive-topology"
	// NodeSelectorStrategyKey asks for exclusive placement by node labels and taints that were put on the nodes beforehand.
	NodeSelectorStrategyKey = "alpha.jobset.sigs.k8s.io/node-selector"
	// InPlaceTimeoutKey opts a JobSet into in-place restarts and bounds the time that one may take, as a duration such as
	// "60s". When it has passed, all Jobs are recreated.
	InPlaceTimeoutKey = "alpha.jobset.sigs.k8s.io/inplace-timeout"
	// FormingTimeoutKey bounds how long the workers of a JobSet with in-place restarts may take to join for the first time, at the
	// start and after each recreation, as a duration of 1 s or more such as "10m". The default is 30 minutes. When it has passed,
	// the pods of workers that are missing are replaced once, then all Jobs are recreated. The time does not run while the JobSet
	// or a Job is suspended, or a pod is not scheduled.
	FormingTimeoutKey = "holdfast.dev/forming-timeout"
	// MaxRestartDelayKey bounds how long the workers of a JobSet that restarts in place wait before they start, when one restart
	// after the other ends within a minute: from the fourth on 1 s, 2 s, 4 s and so on. A duration such as "5m"; the default is 32
	// seconds, and "0s" means that workers never wait. It has an effect with the driver "exec" only.
	MaxRestartDelayKey = "holdfast.dev/max-restart-delay"
	// InPlaceDriverKey says what restarts the workers of a JobSet that opts in and brings no agent: "exec" (the default; a
	// supervisor in the worker's container), "cri" (a sidecar at the node's container runtime) or "none". Set on the JobSet or
	// on the Job template of a replicatedJob; the latter wins.
	InPlaceDriverKey = "holdfast.dev/inplace-driver"
	// StageQueueKey names a LocalQueue of Kueue in which each Job of the JobSet waits by itself from when its turn comes, so that
	// quota of a later stage is not held while an earlier one runs. Without it, and with the label QueueNameLabel on the JobSet,
	// the JobSet waits as a whole for the quota of all stages.
	StageQueueKey = "holdfast.dev/stage-queue"
	// InPlaceContainerKey names the container that is restarted, where a pod has several. Set on the JobSet or on the Job
	// template of a replicatedJob; the latter wins.
	InPlaceContainerKey = "holdfast.dev/inplace-container"
	// NodeLostAfterKey says that a node whose kubelet was not heard of for so long (a duration of 10 s or more) is switched off: a pod
	// that is being deleted there is deleted by force, and its slot gets a new one. Absent: only if the node is gone from the
	// API server or carries the taint node.kubernetes.io/out-of-service.
	NodeLostAfterKey = "holdfast.dev/node-lost-after"
	// ProgressTimeoutKey asks for signs of progress: a worker that gives none for so long, as a duration such as "2m", hangs; it
	// is killed and its group restarts in place. The exec driver only. Set on the JobSet or on the Job template of a replicatedJob; the
	// latter wins. So are the next two.
	ProgressTimeoutKey = "holdfast.dev/progress-timeout"
	// ProgressStartTimeoutKey bounds the time from a worker's start to its first sign of progress. Without it the clock starts
	// with that sign.
	ProgressStartTimeoutKey = "holdfast.dev/progress-start-timeout"
	// ProgressFromKey says what a sign is: "file" (the default; the worker touches HOLDFAST_PROGRESS_FILE), "socket" (it sends
	// a datagram to HOLDFAST_PROGRESS_SOCKET) or "output" (it writes anything to its standard output or error).
	ProgressFromKey = "holdfast.dev/progress-from"
	// StuckPodTimeoutKey opts a JobSet into the removal of stuck pods. The value is a duration such as "60s". A pod that should have
	// terminated that long ago is deleted without waiting for its kubelet, if its node is known to be dead.
	StuckPodTimeoutKey = "holdfast.dev/stuck-pod-timeout"
)

// Keys by which pods of any owner declare a group. The pod of index 0 leads it: its annotations say what the group asks for, and the group ends with it.
const (
	// PodGroupKey is a label with the name of the pod of index 0, on all pods of the group.
	PodGroupKey = "holdfast.dev/group-name"
	// PodGroupSizeKey is an annotation with the number of pods, the same on all of them.
	PodGroupSizeKey = "holdfast.dev/group-size"
	// PodGroupIndexKey is a label with the index of the pod, from 0. If it is absent, the label apps.kubernetes.io/pod-index of StatefulSets counts.
	PodGroupIndexKey = "holdfast.dev/group-index"
)

// Keys of restartStrategy InPlaceRestart.
const (
	// InPlaceAttemptKey is written by an agent on its pod: the attempt that it takes part in.
	InPlaceAttemptKey = "jobset.sigs.k8s.io/in-place-restart-attempt"
	// DisableInPlaceRestartKey, set by users on a JobSet with any value, lets its agents start their workers at once.
	DisableInPlaceRestartKey = "jobset.sigs.k8s.io/disable-in-place-restart"
)

// Keys that programs write.
const (
	// InPlaceRestartsKey is written on the JobSet by the orchestrator: the restarts charged so far, in place and by recreation.
	// Above failurePolicy.maxRestarts the JobSet fails.
	InPlaceRestartsKey = "alpha.jobset.sigs.k8s.io/inplace-restarts"
	// WrittenForKey is written on the JobSet beside all annotations that the manager and the orchestrator write: its UID. With another UID they
	// came with the manifest of another JobSet, and are taken away.
	WrittenForKey = "holdfast.dev/written-for"
	// LedByKey is written where the published controller serves JobSets: by the webhook on Jobs and by the orchestrator on the JobSet. Its value
	// names the installation that leads the group: "<namespace>/<Lease of the orchestrator>". Another installation leaves the group alone.
	LedByKey = "holdfast.dev/led-by"
	// MaxRestartsKey is the number of restarts of a group whose owner has no field for it. Users set it on the pod of index 0. On a Job that has a group
	// of its own, the webhook on Jobs writes spec.backoffLimit as its author set it. The webhook then raises backoffLimit, because the Job controller
	// counts restarted containers towards it.
	MaxRestartsKey = "holdfast.dev/max-restarts"
	// GroupKindKey is a label of pods that the webhooks prepare, with the kind of the owner of their group: JobSet, Job, or Pod for a group that its pods
	// declare.
	GroupKindKey = "holdfast.dev/group-kind"
	// RefusedKey is written by the webhook on pods on a pod of such a group that gets no agent. Its value says why.
	RefusedKey = "holdfast.dev/refused"
	// InPlaceInjectionKey is written on Jobs: "true" if agents are added to the Jobs of the attempt, "false" if they could not be.
	// Absent on Jobs of JobSets that ask for none. What is decided for the first Job of an attempt holds for all of them.
	InPlaceInjectionKey = "holdfast.dev/inplace-injection"
	// PriorityKey is a label of pods that are placed exclusively by the pod webhook, with the pod's priority as its value: pods of
	// another priority do not keep them out of a domain, so that the scheduler can preempt those. The published controller
	// writes it on all pods of JobSets.
	PriorityKey = "jobset.sigs.k8s.io/priority"
	// CarriedSpecKey is written on JobSets by the webhook: what of their spec the published types do not have. MultiKueue copies a JobSet
	// by these types to the cluster that it is to run in, and the annotation along with it; the webhook there gives it back.
	CarriedSpecKey = "holdfast.dev/carried-spec"
	// NamespacedJobKey is the node label and node selector of the node selector strategy, with the value "<namespace>_<job name>".
	NamespacedJobKey = "alpha.jobset.sigs.k8s.io/namespaced-job"
	// NoScheduleTaintKey is the taint of nodes that the node selector strategy reserves.
	NoScheduleTaintKey = "alpha.jobset.sigs.k8s.io/no-schedule"
)

// Labels of Kueue.
const (
	// QueueNameLabel names the LocalQueue that an object waits in.
	QueueNameLabel = "kueue.x-k8s.io/queue-name"
	// PriorityClassLabel names the WorkloadPriorityClass that an object waits with.
	PriorityClassLabel = "kueue.x-k8s.io/priority-class"
)

// MultiKueueOriginLabel is on the copies of objects that MultiKueue makes in other clusters.
const MultiKueueOriginLabel = "kueue.x-k8s.io/multikueue-origin"

// JobSetControllerName is the value of spec.managedBy that means this controller.
const JobSetControllerName = "jobset.sigs.k8s.io/jobset-controller"
