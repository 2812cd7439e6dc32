package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ElasticJobStatus is what has become of an ElasticJob.
type ElasticJobStatus struct {
	// observedGeneration is the generation of the spec that the status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// state sums the conditions up: Pending, Running, Restarting, Suspended, Succeeded or Failed.
	// +optional
	State State `json:"state,omitempty"`
	// message says what the job waits for, or why it ended.
	// +optional
	Message string `json:"message,omitempty"`
	// conditions of the job: Created, Running, Restarting, Suspended, Succeeded, Failed.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []JobCondition `json:"conditions,omitempty"`
	// replicaStatuses counts the workers.
	// +optional
	ReplicaStatuses ReplicaStatuses `json:"replicaStatuses,omitempty"`
	// startTime is when the job was started, or resumed.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// completionTime is when it succeeded or failed.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	// lastReconcileTime is accepted and never written.
	// +optional
	LastReconcileTime *metav1.Time `json:"lastReconcileTime,omitempty"`

	// replicas is the number of workers that have a pod which has not ended. For /scale.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`
	// readyReplicas is the number of workers that are ready.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`
	// selector of the workers' pods, as text. For /scale.
	// +optional
	Selector string `json:"selector,omitempty"`
	// indexes of the workers that are wanted, such as "0-3,7". Others are being removed.
	// +optional
	Indexes string `json:"indexes,omitempty"`
	// completedIndexes are those of workers that have succeeded. They do not run again.
	// +optional
	CompletedIndexes string `json:"completedIndexes,omitempty"`
	// failedIndexes are those of workers that were given up.
	// +optional
	FailedIndexes string `json:"failedIndexes,omitempty"`
	// workers are those that have a history.
	// +optional
	// +listType=map
	// +listMapKey=index
	Workers []WorkerHistory `json:"workers,omitempty"`
	// restarts is how often workers have failed because their program did. Failures of containers that were restarted in their pod are added
	// when the pod ends.
	// +optional
	Restarts int32 `json:"restarts,omitempty"`
	// disruptions is how often workers were replaced because they were evicted, preempted or lost.
	// +optional
	Disruptions int32 `json:"disruptions,omitempty"`
	// resumes is how often the job was resumed after it had run.
	// +optional
	Resumes int32 `json:"resumes,omitempty"`
	// inPlace is what is known of restarts in place, of a job that asks for them.
	// +optional
	InPlace *InPlaceStatus `json:"inPlace,omitempty"`
	// belowMinSince is since when fewer than minReplicas workers are possible.
	// +optional
	BelowMinSince *metav1.MicroTime `json:"belowMinSince,omitempty"`
	// givenBack says that fewer workers are asked for than wanted, because there was no room for them.
	// +optional
	GivenBack *GivenBack `json:"givenBack,omitempty"`
	// rendezvous is what the managed rendezvous server says. Absent with the user's own.
	// +optional
	Rendezvous *RendezvousStatus `json:"rendezvous,omitempty"`
}

// State sums the conditions of a job up.
type State string

// States of a job.
const (
	StatePending    State = "Pending"
	StateRunning    State = "Running"
	StateRestarting State = "Restarting"
	StateSuspended  State = "Suspended"
	StateSucceeded  State = "Succeeded"
	StateFailed     State = "Failed"
)

// JobCondition is a condition with the two times of the published kind.
type JobCondition struct {
	// type of the condition.
	Type JobConditionType `json:"type"`
	// status is True, False or Unknown.
	Status metav1.ConditionStatus `json:"status"`
	// reason is one word.
	// +optional
	Reason string `json:"reason,omitempty"`
	// message is for people.
	// +optional
	Message string `json:"message,omitempty"`
	// lastUpdateTime is when anything of it changed.
	// +optional
	LastUpdateTime metav1.Time `json:"lastUpdateTime,omitempty"`
	// lastTransitionTime is when its status changed.
	// +optional
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty"`
}

// JobConditionType is a type of condition.
type JobConditionType string

// Types of conditions.
const (
	// JobCreated: the operator has seen the job.
	JobCreated JobConditionType = "Created"
	// JobRunning: at least minReplicas workers run and, at the managed rendezvous, have completed a round.
	JobRunning JobConditionType = "Running"
	// JobRestarting: workers are being replaced.
	JobRestarting JobConditionType = "Restarting"
	// JobSuspended: the job is suspended.
	JobSuspended JobConditionType = "Suspended"
	// JobSucceeded: the work is done.
	JobSucceeded JobConditionType = "Succeeded"
	// JobFailed: the job has failed for good.
	JobFailed JobConditionType = "Failed"
	// JobRecovering: workers are being replaced, and other programs leave the job alone meanwhile. The annotation holdfast.dev/recovering says
	// until when.
	JobRecovering JobConditionType = "Recovering"
	// JobInPlaceInSync: the processes of all workers that run were started together, and can be restarted together in place. Only of jobs that
	// ask for that.
	JobInPlaceInSync JobConditionType = "InPlaceInSync"
)

// Reasons of conditions and events.
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

// ReplicaStatuses counts the pods of each kind.
type ReplicaStatuses struct {
	// Worker counts the workers.
	// +optional
	Worker ReplicaStatus `json:"Worker,omitempty"`
}

// ReplicaStatus counts pods.
type ReplicaStatus struct {
	// active is the number of workers that run.
	// +optional
	Active int32 `json:"active,omitempty"`
	// succeeded is the number of workers that have succeeded.
	// +optional
	Succeeded int32 `json:"succeeded,omitempty"`
	// failed is the number of workers that have failed and run no more, be it that they are about to be replaced or were given up.
	// +optional
	Failed int32 `json:"failed,omitempty"`
}

// WorkerHistory is what a worker has been through. Workers that were removed have none.
type WorkerHistory struct {
	// index of the worker.
	Index int32 `json:"index"`
	// failures is how often its program has failed.
	// +optional
	Failures int32 `json:"failures,omitempty"`
	// disruptions is how often it was evicted, preempted or lost.
	// +optional
	Disruptions int32 `json:"disruptions,omitempty"`
	// permanent: it ended in a way after which it is not replaced.
	// +optional
	Permanent bool `json:"permanent,omitempty"`
	// lastPod is the UID of the pod that was counted last, so that each is counted once.
	// +optional
	LastPod types.UID `json:"lastPod,omitempty"`
	// lastReason says how that pod ended.
	// +optional
	LastReason string `json:"lastReason,omitempty"`
	// lastTime is when that was seen.
	// +optional
	LastTime *metav1.MicroTime `json:"lastTime,omitempty"`
}

// InPlaceStatus is what is known of restarts in place.
type InPlaceStatus struct {
	// failures is how many failures of workers were answered in place. They are among restarts, and among the failures of the workers.
	// +optional
	Failures int32 `json:"failures,omitempty"`
	// counted is up to when failures have been counted, so that each is counted once.
	// +optional
	Counted *metav1.MicroTime `json:"counted,omitempty"`
}

// GivenBack says that fewer workers are asked for than wanted.
type GivenBack struct {
	// replicas that are asked for.
	Replicas int32 `json:"replicas"`
	// wanted is what was wanted at the time. When that changes, all are asked for again.
	Wanted int32 `json:"wanted"`
	// since is when it was decided.
	Since metav1.MicroTime `json:"since"`
}

// RendezvousStatus is what the managed rendezvous server says.
type RendezvousStatus struct {
	// endpoint at which workers find it.
	Endpoint string `json:"endpoint"`
	// round is the number of the current one.
	// +optional
	Round int64 `json:"round,omitempty"`
	// participants of the current round.
	// +optional
	Participants int32 `json:"participants,omitempty"`
	// waiting is the number of those who wait for the next round.
	// +optional
	Waiting int32 `json:"waiting,omitempty"`
	// complete reports whether the participants of the round train. Until then they wait for each other.
	// +optional
	Complete bool `json:"complete,omitempty"`
	// restarts is how often the workers' agents have restarted their processes since the server started: the completed rounds after the
	// first.
	// +optional
	Restarts int64 `json:"restarts,omitempty"`
	// closed: workers have ended it.
	// +optional
	Closed bool `json:"closed,omitempty"`
	// lastChange is when any of this changed.
	// +optional
	LastChange *metav1.Time `json:"lastChange,omitempty"`
	// message says why nothing is known, if the server does not answer.
	// +optional
	Message string `json:"message,omitempty"`
}
