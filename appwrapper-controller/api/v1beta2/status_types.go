package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// AppWrapperStatus is what has become of an AppWrapper.
type AppWrapperStatus struct {
	// phase is where the workload is in its life.
	// +optional
	Phase AppWrapperPhase `json:"phase,omitempty"`
	// resettingCount is how often the workload was reset. Evacuations of nodes are not counted here, see evacuations.
	// +optional
	Retries int32 `json:"resettingCount,omitempty"`
	// conditions of the workload, see AppWrapperCondition. Other programs may add types of their own.
	// +optional
	// +patchMergeKey=type
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`
	// componentStatus has one entry for each component, in the same order.
	// +optional
	ComponentStatus []AppWrapperComponentStatus `json:"componentStatus,omitempty"`
	// evacuations is how often the workload was moved away from bad nodes.
	// +optional
	Evacuations int32 `json:"evacuations,omitempty"`
	// attempts are the last tries to run the workload, oldest first; the last one may go on. At most 16 are kept.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Attempts []Attempt `json:"attempts,omitempty"`
	// clocks are the times from which grace periods count. One that is absent has not begun, or is that of the condition
	// that was written at the time.
	// +optional
	Clocks *Clocks `json:"clocks,omitempty"`
	// reviewed is what was found to be allowed. Nothing else is created. Absent while the check of access is off.
	// +optional
	Reviewed *Review `json:"reviewed,omitempty"`
}

// Review is the AppWrapper whose creator was found to be allowed to create what is in it.
type Review struct {
	// uid of the AppWrapper.
	UID types.UID `json:"uid"`
	// templates is a digest of the templates of all components.
	Templates string `json:"templates"`
}

// AppWrapperComponentStatus is what has become of one component.
type AppWrapperComponentStatus struct {
	// name of the object, also if its template has only a generateName. Empty until it is about to be created.
	Name string `json:"name"`
	// kind of the object. Empty until it is about to be created.
	Kind string `json:"kind"`
	// apiVersion of the object. Empty until it is about to be created.
	APIVersion string `json:"apiVersion"`
	// podSets are those declared in the spec, or else those that the kind is known to have.
	PodSets []AppWrapperPodSet `json:"podSets"`
	// conditions of the component: ResourcesDeployed, and Succeeded once it has completed its work.
	// +optional
	// +patchMergeKey=type
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`
}

// Attempt is one try to run the workload, from the creation of its components to their removal.
type Attempt struct {
	// number of the attempt, from 1.
	Number int32 `json:"number"`
	// startTime is when the components were to be created.
	StartTime metav1.Time `json:"startTime"`
	// readyTime is when all pods ran for the first time.
	// +optional
	ReadyTime *metav1.Time `json:"readyTime,omitempty"`
	// endTime is when it was decided to end the attempt. Absent while it goes on.
	// +optional
	EndTime *metav1.Time `json:"endTime,omitempty"`
	// reason why it ended: a reason of Unhealthy, or Succeeded, Suspended, Terminating.
	// +optional
	Reason string `json:"reason,omitempty"`
	// message says more about the reason. At most 256 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Message string `json:"message,omitempty"`
	// nodes are those that the end of the attempt is put down to. The next attempt keeps away from nodes that were evacuated.
	// At most 16.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Nodes []string `json:"nodes,omitempty"`
	// evacuation: the attempt ended because its nodes are bad, which is not counted in resettingCount.
	// +optional
	Evacuation bool `json:"evacuation,omitempty"`
}

// Clocks are the times from which grace periods count.
type Clocks struct {
	// attemptStart: the components were to be created. Starts AdmissionGracePeriod and WarmupGracePeriod.
	// +optional
	AttemptStart *metav1.MicroTime `json:"attemptStart,omitempty"`
	// notReadySince: pods that had been ready ceased to be. Starts both periods anew.
	// +optional
	NotReadySince *metav1.MicroTime `json:"notReadySince,omitempty"`
	// unhealthySince: the workload was found unhealthy. Starts FailureGracePeriod.
	// +optional
	UnhealthySince *metav1.MicroTime `json:"unhealthySince,omitempty"`
	// deletionStart: it was decided to remove the components. Starts ForcefulDeletionGracePeriod.
	// +optional
	DeletionStart *metav1.MicroTime `json:"deletionStart,omitempty"`
	// deletionEnd: all was gone. Starts RetryPausePeriod.
	// +optional
	DeletionEnd *metav1.MicroTime `json:"deletionEnd,omitempty"`
	// finished: the workload succeeded or failed. Starts SuccessTTL or DeletionOnFailureGracePeriod.
	// +optional
	Finished *metav1.MicroTime `json:"finished,omitempty"`
}

// AppWrapperPhase is where a workload is in its life.
type AppWrapperPhase string

const (
	// Empty: nobody has looked at it.
	Empty AppWrapperPhase = ""
	// Suspended: nothing is deployed, no quota is held.
	Suspended AppWrapperPhase = "Suspended"
	// Resuming: the components are being created.
	Resuming AppWrapperPhase = "Resuming"
	// Running: the components were created and are watched.
	Running AppWrapperPhase = "Running"
	// Resetting: the components are being removed, to be created again after a pause.
	Resetting AppWrapperPhase = "Resetting"
	// Suspending: the components are being removed, to give the quota back.
	Suspending AppWrapperPhase = "Suspending"
	// Succeeded: the work is done.
	Succeeded AppWrapperPhase = "Succeeded"
	// Failed: the workload has failed for good.
	Failed AppWrapperPhase = "Failed"
	// Terminating: the AppWrapper is deleted and its components are being removed.
	Terminating AppWrapperPhase = "Terminating"
)

// AppWrapperCondition is a type of condition.
type AppWrapperCondition string

const (
	// QuotaReserved is True while the workload holds its quota.
	QuotaReserved AppWrapperCondition = "QuotaReserved"
	// ResourcesDeployed is True from the creation of the components until the last object and pod is gone.
	ResourcesDeployed AppWrapperCondition = "ResourcesDeployed"
	// PodsReady is True while all pods run or have succeeded.
	PodsReady AppWrapperCondition = "PodsReady"
	// Unhealthy is True while something is wrong with the workload.
	Unhealthy AppWrapperCondition = "Unhealthy"
	// AccessReviewed is False while nothing is created, because nobody has checked whether whoever created the AppWrapper may create
	// what is in it.
	AccessReviewed AppWrapperCondition = "AccessReviewed"
	// DeletingResources is True while the components are being removed.
	DeletingResources AppWrapperCondition = "DeletingResources"

	// ComponentSucceeded is True, on a component, once it has completed its work: its object may be gone after that.
	ComponentSucceeded AppWrapperCondition = "Succeeded"
)

// Reasons of conditions. Phases are reasons too.
const (
	// ReasonCreateFailed: the components could not be created within AdmissionGracePeriod.
	ReasonCreateFailed = "CreateFailed"
	// ReasonNotReviewed: the webhook did not check the AppWrapper, or its templates have changed since.
	ReasonNotReviewed = "NotReviewed"
	// ReasonMissingComponent: somebody else has deleted a component.
	ReasonMissingComponent = "MissingComponent"
	// ReasonFailedComponent: a component says that it has failed.
	ReasonFailedComponent = "FailedComponent"
	// ReasonFoundFailedPods: pods have failed.
	ReasonFoundFailedPods = "FoundFailedPods"
	// ReasonFoundNoFailedPods: nothing is wrong.
	ReasonFoundNoFailedPods = "FoundNoFailedPods"
	// ReasonRecovering: something is wrong with pods, and a cheaper rung of the ladder has it in hand.
	ReasonRecovering = "RecoveringBelow"
	// ReasonAutopilotNoExecute: running pods use resources of bad nodes.
	ReasonAutopilotNoExecute = "AutopilotNoExecute"
	// ReasonInsufficientPodsReady: not all pods run.
	ReasonInsufficientPodsReady = "InsufficientPodsReady"
	// ReasonSufficientPodsReady: all pods run or have succeeded.
	ReasonSufficientPodsReady = "SufficientPodsReady"
	// ReasonDeletionInitiated: the components are being removed.
	ReasonDeletionInitiated = "DeletionInitiated"
	// ReasonDeletionComplete: they are gone.
	ReasonDeletionComplete = "DeletionComplete"
	// ReasonDeletionPaused: they are kept for a while so that somebody can look at them.
	ReasonDeletionPaused = "DeletionPaused"

	// ReasonComponentCreationInitiated: a component is about to be created.
	ReasonComponentCreationInitiated = "ComponentCreationInitiated"
	// ReasonComponentCreatedSuccessfully: a component was created.
	ReasonComponentCreatedSuccessfully = "ComponentCreatedSuccessfully"
	// ReasonComponentCreationErrored: a component could not be created.
	ReasonComponentCreationErrored = "ComponentCreationErrored"
	// ReasonComponentCreationRefused: a component was certainly not created, because the API server refused it, or one before it.
	ReasonComponentCreationRefused = "ComponentCreationRefused"
	// ReasonComponentDeleted: a component is gone. The published spelling.
	ReasonComponentDeleted = "CompononetDeleted"
)
