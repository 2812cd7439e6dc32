package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ElasticJobStatus is the observed state of an ElasticJob.
type ElasticJobStatus struct {
	// observedGeneration is the generation of the spec that the operator last observed.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// state summarizes the conditions: Pending, Running, Restarting, Suspended, Succeeded or Failed.
	// +optional
	State State `json:"state,omitempty"`
	// message describes what the job is waiting for, or why it finished.
	// +optional
	Message string `json:"message,omitempty"`
	// conditions are Created, Running, Restarting, Recovering, Suspended, Succeeded and Failed, and InPlaceInSync for jobs with in-place
	// restarts.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []JobCondition `json:"conditions,omitempty"`
	// replicaStatuses counts the workers.
	// +optional
	ReplicaStatuses ReplicaStatuses `json:"replicaStatuses,omitempty"`
	// startTime is when the job was started or last resumed.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// completionTime is when the job succeeded or failed.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	// lastReconcileTime is accepted but never set.
	// +optional
	LastReconcileTime *metav1.Time `json:"lastReconcileTime,omitempty"`

	// replicas is the number of worker pods that have not terminated. The scale subresource uses it.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`
	// readyReplicas is the number of ready workers.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`
	// selector is the label selector of the worker pods. The scale subresource uses it.
	// +optional
	Selector string `json:"selector,omitempty"`
	// indexes are the indexes of the desired workers, such as "0-3,7". All other workers are removed.
	// +optional
	Indexes string `json:"indexes,omitempty"`
	// completedIndexes are the indexes of the workers that have succeeded. They do not run again.
	// +optional
	CompletedIndexes string `json:"completedIndexes,omitempty"`
	// failedIndexes are the indexes of the abandoned workers, which are no longer replaced.
	// +optional
	FailedIndexes string `json:"failedIndexes,omitempty"`
	// workers contains the history of each worker that has failed or was disrupted.
	// +optional
	// +listType=atomic
	Workers []WorkerHistory `json:"workers,omitempty"`
	// restarts is how often worker programs have failed. Restarts of containers within a pod are added when the pod terminates.
	// +optional
	Restarts int32 `json:"restarts,omitempty"`
	// disruptions is how often workers were evicted, preempted or lost.
	// +optional
	Disruptions int32 `json:"disruptions,omitempty"`
	// resumes is how often the job was resumed after it had run.
	// +optional
	Resumes int32 `json:"resumes,omitempty"`
	// inPlace counts the in-place restarts of the job.
	// +optional
	InPlace *InPlaceStatus `json:"inPlace,omitempty"`
	// belowMinSince is when the number of workers that can still run dropped below minReplicas.
	// +optional
	BelowMinSince *metav1.MicroTime `json:"belowMinSince,omitempty"`
	// givenBack is set while the job runs with fewer workers than desired because surplus workers could not be scheduled.
	// +optional
	GivenBack *GivenBack `json:"givenBack,omitempty"`
	// rendezvous is the status of the managed rendezvous server. It is absent if rdzvEndpoint is set.
	// +optional
	Rendezvous *RendezvousStatus `json:"rendezvous,omitempty"`
}

// State summarizes the conditions of a job.
type State string

// States of a job.
const (
	// StatePending means that fewer than minReplicas workers are running, or that they have not completed a rendezvous round.
	StatePending State = "Pending"
	// StateRunning means that the Running condition is True.
	StateRunning State = "Running"
	// StateRestarting means that failed workers are being replaced.
	StateRestarting State = "Restarting"
	// StateSuspended means that the job is suspended.
	StateSuspended State = "Suspended"
	// StateSucceeded means that the job has finished successfully.
	StateSucceeded State = "Succeeded"
	// StateFailed means that the job has failed.
	StateFailed State = "Failed"
)

// JobCondition is a condition of a job. Unlike metav1.Condition it has a lastUpdateTime, as in the upstream API.
type JobCondition struct {
	// type is the type of the condition.
	Type JobConditionType `json:"type"`
	// status is True, False or Unknown.
	Status metav1.ConditionStatus `json:"status"`
	// reason is a machine-readable reason in CamelCase.
	// +optional
	Reason string `json:"reason,omitempty"`
	// message is a human-readable explanation.
	// +optional
	Message string `json:"message,omitempty"`
	// lastUpdateTime is when status, reason or message last changed.
	// +optional
	LastUpdateTime metav1.Time `json:"lastUpdateTime,omitempty"`
	// lastTransitionTime is when status last changed.
	// +optional
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty"`
}

// JobConditionType is the type of a condition.
type JobConditionType string

// Condition types.
const (
	// JobCreated means that the operator has observed the job.
	JobCreated JobConditionType = "Created"
	// JobRunning means that at least minReplicas workers are running. With the managed rendezvous they must also have completed a round.
	JobRunning JobConditionType = "Running"
	// JobRestarting means that workers are being replaced.
	JobRestarting JobConditionType = "Restarting"
	// JobSuspended means that the job is suspended.
	JobSuspended JobConditionType = "Suspended"
	// JobSucceeded means that the job has finished successfully.
	JobSucceeded JobConditionType = "Succeeded"
	// JobFailed means that the job has failed and is not retried.
	JobFailed JobConditionType = "Failed"
	// JobRecovering means that workers are being replaced or restarted, and that other programs must not recover the job at the same time.
	// The annotation holdfast.dev/recovering contains the deadline.
	JobRecovering JobConditionType = "Recovering"
	// JobInPlaceInSync means that the processes of all running workers belong to the same restart and can be restarted in place. Only
	// jobs with in-place restarts have it.
	JobInPlaceInSync JobConditionType = "InPlaceInSync"
)

// Reasons for conditions and events.
const (
	ReasonCreated          = "ElasticJobCreated"
	ReasonRunning          = "ElasticJobRunning"
	ReasonNotRunning       = "ElasticJobNotRunning"
	ReasonNotMet           = "RendezvousIncomplete"
	ReasonRestarting       = "ElasticJobRestarting"
	ReasonRestarted        = "ElasticJobRestarted"
	ReasonSuspended        = "ElasticJobSuspended"
	ReasonResumed          = "ElasticJobResumed"
	ReasonSucceeded        = "ElasticJobSucceeded"
	ReasonFailed           = "ElasticJobFailed"
	ReasonDeadlineExceeded = "DeadlineExceeded"

	ReasonInSync            = "InSync"
	ReasonRestartingInPlace = "RestartingInPlace"
	ReasonWaitingForWorkers = "WaitingForWorkers"
	ReasonWaitingForLeader  = "WaitingForOrchestrator"
	ReasonNotPossible       = "NotPossible"
)

// ReplicaStatuses contains the pod counts of each replica type.
type ReplicaStatuses struct {
	// Worker counts the workers.
	// +optional
	Worker ReplicaStatus `json:"Worker,omitempty"`
}

// ReplicaStatus counts the pods of one replica type.
type ReplicaStatus struct {
	// active is the number of running workers.
	// +optional
	Active int32 `json:"active,omitempty"`
	// succeeded is the number of workers that have succeeded.
	// +optional
	Succeeded int32 `json:"succeeded,omitempty"`
	// failed is the number of failed workers that have not been replaced yet or were abandoned.
	// +optional
	Failed int32 `json:"failed,omitempty"`
}

// WorkerHistory contains the failures and disruptions of a worker. It is dropped when the worker is removed.
type WorkerHistory struct {
	// index is the index of the worker.
	Index int32 `json:"index"`
	// failures is how often the worker's program has failed.
	// +optional
	Failures int32 `json:"failures,omitempty"`
	// disruptions is how often the worker was evicted, preempted or lost.
	// +optional
	Disruptions int32 `json:"disruptions,omitempty"`
	// permanent is true if the last failure was permanent, so the worker is not replaced.
	// +optional
	Permanent bool `json:"permanent,omitempty"`
	// lastPod is the UID of the pod whose termination was counted last. It ensures that each pod is counted once.
	// +optional
	LastPod types.UID `json:"lastPod,omitempty"`
	// lastReason is how the worker last failed or was disrupted.
	// +optional
	LastReason string `json:"lastReason,omitempty"`
	// lastTime is when the last failure or disruption was observed.
	// +optional
	LastTime *metav1.MicroTime `json:"lastTime,omitempty"`
}

// InPlaceStatus counts the failures that were handled by in-place restarts.
type InPlaceStatus struct {
	// failures is the number of worker failures that were handled by in-place restarts. They are included in restarts and in the failures of
	// the workers.
	// +optional
	Failures int32 `json:"failures,omitempty"`
	// counted is the time of the last failure that was counted. It ensures that each failure is counted once.
	// +optional
	Counted *metav1.MicroTime `json:"counted,omitempty"`
}

// GivenBack describes a temporary reduction of the number of workers.
type GivenBack struct {
	// replicas is the reduced number of workers.
	Replicas int32 `json:"replicas"`
	// wanted is the desired number of workers at the time of the reduction. When the desired number changes, the reduction ends.
	Wanted int32 `json:"wanted"`
	// since is when the number was reduced.
	Since metav1.MicroTime `json:"since"`
}

// RendezvousStatus is the status of the managed rendezvous server.
type RendezvousStatus struct {
	// endpoint is the host:port that workers connect to.
	Endpoint string `json:"endpoint"`
	// round is the number of the current round.
	// +optional
	Round int64 `json:"round,omitempty"`
	// participants is the number of agents in the current round.
	// +optional
	Participants int32 `json:"participants,omitempty"`
	// waiting is the number of agents waiting for the next round.
	// +optional
	Waiting int32 `json:"waiting,omitempty"`
	// complete is true if all participants of the round have joined. Until then they wait for each other.
	// +optional
	Complete bool `json:"complete,omitempty"`
	// restarts is how often the agents have restarted their processes since the server started. This is the number of completed rounds after
	// the first one.
	// +optional
	Restarts int64 `json:"restarts,omitempty"`
	// closed is true if an agent has closed the rendezvous.
	// +optional
	Closed bool `json:"closed,omitempty"`
	// message explains why the status is out of date or incomplete, for example because the server is unreachable.
	// +optional
	Message string `json:"message,omitempty"`
}
