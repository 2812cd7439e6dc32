package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// AppWrapper runs the objects it wraps as one workload: they receive quota, start and fail together, and are reset, suspended and removed
// together.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=appwrappers,scope=Namespaced,shortName=aw
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=".status.phase"
// +kubebuilder:printcolumn:name="Quota Reserved",type=string,JSONPath=`.status.conditions[?(@.type=="QuotaReserved")].status`
// +kubebuilder:printcolumn:name="Resources Deployed",type=string,JSONPath=`.status.conditions[?(@.type=="ResourcesDeployed")].status`
// +kubebuilder:printcolumn:name="Unhealthy",type=string,JSONPath=`.status.conditions[?(@.type=="Unhealthy")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="Ready",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="PodsReady")].status`,description="Whether all pods are running or have succeeded"
// +kubebuilder:printcolumn:name="Resets",type=integer,priority=1,JSONPath=".status.resettingCount",description="How often the workload was reset, not counting node evacuations"
// +kubebuilder:printcolumn:name="Evacuations",type=integer,priority=1,JSONPath=".status.evacuations",description="How often the workload was moved away from bad nodes"
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Unhealthy")].reason`,description="Reason for the current value of the Unhealthy condition"
type AppWrapper struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what to run.
	// +optional
	Spec AppWrapperSpec `json:"spec,omitempty"`
	// status is the observed state. Only the controller writes it.
	// +optional
	Status AppWrapperStatus `json:"status,omitempty"`
}

// AppWrapperList is a list of AppWrappers.
//
// +kubebuilder:object:root=true
type AppWrapperList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []AppWrapper `json:"items"`
}

// AppWrapperSpec says what to run.
type AppWrapperSpec struct {
	// components are the wrapped objects, created in this order. Their number, templates and pod sets are immutable.
	Components []AppWrapperComponent `json:"components"`
	// suspend removes everything that was created and releases the quota. It can be set at any time before the workload has finished. Kueue
	// sets it. Absent means false.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
	// managedBy names the controller that reconciles the object. Absent means this one, whose name is
	// workload.codeflare.dev/appwrapper-controller. This controller ignores objects managed by others. Immutable.
	// +optional
	ManagedBy *string `json:"managedBy,omitempty"`
}

// AppWrapperComponent is one wrapped object.
type AppWrapperComponent struct {
	// annotations are for your own use. The controller ignores them.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
	// podSets describe the pods that the object creates. They are optional for kinds whose pod sets are known.
	// +optional
	DeclaredPodSets []AppWrapperPodSet `json:"podSets,omitempty"`
	// podSetInfos holds what Kueue adds to the pods of each set, in the order of the sets. Kueue writes and clears them.
	// +optional
	PodSetInfos []AppWrapperPodSetInfo `json:"podSetInfos,omitempty"`
	// template is the object. Immutable.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:EmbeddedResource
	Template runtime.RawExtension `json:"template"`
}

// AppWrapperPodSet is a number of identical pods.
type AppWrapperPodSet struct {
	// replicas is the number of pods. Absent means 1.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// path is the path of the pod template within the component, such as template.spec.workers[0].template.
	Path string `json:"path"`
	// annotations specify the topology to request from Kueue.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Count returns the number of pods in the set.
func (s AppWrapperPodSet) Count() int32 { return ptr.Deref(s.Replicas, 1) }

// AppWrapperPodSetInfo is what Kueue adds to the pods of a set. It must not contradict the template.
type AppWrapperPodSetInfo struct {
	// annotations of the pods.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
	// labels of the pods.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// nodeSelector of the pods.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// tolerations of the pods, in addition to those of the template.
	// +optional
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// schedulingGates of the pods, in addition to those of the template.
	// +optional
	SchedulingGates []corev1.PodSchedulingGate `json:"schedulingGates,omitempty"`
}

// Labels, finalizers and names on AppWrappers and wrapped objects.
const (
	// AppWrapperLabel holds the name of the AppWrapper, on each wrapped object and on each pod of a pod set.
	AppWrapperLabel = "workload.codeflare.dev/appwrapper"
	// ComponentLabel holds the index of the component, on each pod of a pod set. Pods created by the upstream controller do not have it.
	ComponentLabel = "holdfast.dev/appwrapper-component"
	// UserLabel holds the name of the user who created the AppWrapper, converted to a label value.
	UserLabel = "workload.codeflare.dev/user"
	// UserIDLabel holds the UID of that user, converted to a label value.
	UserIDLabel = "workload.codeflare.dev/userid"
	// QueueLabel names the Kueue queue.
	QueueLabel = "kueue.x-k8s.io/queue-name"
	// Finalizer keeps an AppWrapper until everything that it created is deleted.
	Finalizer = "workload.codeflare.dev/finalizer"
	// ControllerName is the value of spec.managedBy for this controller.
	ControllerName = "workload.codeflare.dev/appwrapper-controller"
)

// Annotations of AppWrappers, set by users. Durations are written as "90s" or "1h30m".
const (
	annotationPrefix = "workload.codeflare.dev.appwrapper/"

	// AdmissionGracePeriodKey sets how long the creation of the pods may take.
	AdmissionGracePeriodKey = annotationPrefix + "admissionGracePeriodDuration"
	// WarmupGracePeriodKey sets how long the pods may take to start running.
	WarmupGracePeriodKey = annotationPrefix + "warmupGracePeriodDuration"
	// FailureGracePeriodKey sets how long the controllers of the components have to repair failed pods.
	FailureGracePeriodKey = annotationPrefix + "failureGracePeriodDuration"
	// RetryPausePeriodKey sets the time between the removal of the components and their next creation.
	RetryPausePeriodKey = annotationPrefix + "retryPausePeriodDuration"
	// RetryLimitKey sets the maximum number of resets.
	RetryLimitKey = annotationPrefix + "retryLimit"
	// ForcefulDeletionGracePeriodKey sets how long a removal may take before it is forced.
	ForcefulDeletionGracePeriodKey = annotationPrefix + "forcefulDeletionGracePeriodDuration"
	// DeletionOnFailureGracePeriodKey sets how long the components of a failed workload and its quota are kept.
	DeletionOnFailureGracePeriodKey = annotationPrefix + "deletionOnFailureGracePeriodDuration"
	// SuccessTTLKey sets how long the components of a succeeded workload are kept.
	SuccessTTLKey = annotationPrefix + "successTTLDuration"
	// TerminalExitCodesKey lists exit codes that rule out a reset, such as "3,10".
	TerminalExitCodesKey = annotationPrefix + "terminalExitCodes"
	// RetryableExitCodesKey lists the only exit codes that allow a reset.
	RetryableExitCodesKey = annotationPrefix + "retryableExitCodes"
)

// Annotations of pod sets that Kueue reads for topology-aware scheduling.
const (
	// PodIndexLabelKey names the label that holds the index of a pod.
	PodIndexLabelKey = annotationPrefix + "tas-pod-index-label"
	// SubGroupIndexLabelKey names the label that holds the index of a group of pods.
	SubGroupIndexLabelKey = annotationPrefix + "tas-sub-group-index-label"
	// SubGroupCountKey holds the number of groups.
	SubGroupCountKey = annotationPrefix + "tas-sub-group-count"
)

// AppWrapperStatus is the observed state of an AppWrapper.
type AppWrapperStatus struct {
	// phase is the phase of the workload.
	// +optional
	Phase AppWrapperPhase `json:"phase,omitempty"`
	// resettingCount is how often the workload was reset. Evacuations from bad nodes are counted separately, see evacuations.
	// +optional
	Retries int32 `json:"resettingCount,omitempty"`
	// conditions of the workload. See AppWrapperCondition. Other programs may add types of their own.
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
	// attempts lists the most recent attempts to run the workload, oldest first. The last one may be in progress. At most 16 are kept.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Attempts []Attempt `json:"attempts,omitempty"`
	// clocks are the start times of grace periods. If a time is absent, the grace period either has not started or counts from the
	// transition time of the corresponding condition.
	// +optional
	Clocks *Clocks `json:"clocks,omitempty"`
	// reviewed identifies the components that the user may create. Nothing else is created. Absent if the access check is off.
	// +optional
	Reviewed *Review `json:"reviewed,omitempty"`
}

// Review records that the user who wrote the AppWrapper may create its components.
type Review struct {
	// uid of the AppWrapper.
	UID types.UID `json:"uid"`
	// templates is a digest of the templates of all components.
	Templates string `json:"templates"`
}

// AppWrapperComponentStatus is the observed state of one component.
type AppWrapperComponentStatus struct {
	// name of the object, even if its template has only a generateName. Empty until it is about to be created.
	Name string `json:"name"`
	// kind of the object. Empty until it is about to be created.
	Kind string `json:"kind"`
	// apiVersion of the object. Empty until it is about to be created.
	APIVersion string `json:"apiVersion"`
	// podSets are the pod sets that the spec declares, or else those known for the kind.
	PodSets []AppWrapperPodSet `json:"podSets"`
	// conditions of the component: ResourcesDeployed, and Succeeded once it has completed its work.
	// +optional
	// +patchMergeKey=type
	// +patchStrategy=merge
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type"`
}

// Attempt is one attempt to run the workload, from the creation of its components to their removal.
type Attempt struct {
	// number of the attempt, from 1.
	Number int32 `json:"number"`
	// startTime is when the controller began to create the components.
	StartTime metav1.Time `json:"startTime"`
	// readyTime is when all pods were first running.
	// +optional
	ReadyTime *metav1.Time `json:"readyTime,omitempty"`
	// endTime is when the controller decided to end the attempt. Absent while it is in progress.
	// +optional
	EndTime *metav1.Time `json:"endTime,omitempty"`
	// reason is why it ended: a reason of the Unhealthy condition, or Succeeded, Suspended or Terminating.
	// +optional
	Reason string `json:"reason,omitempty"`
	// message gives details about the reason. At most 256 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Message string `json:"message,omitempty"`
	// nodes are the nodes that caused the attempt to end. The next attempt avoids nodes that were evacuated. At most 16.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Nodes []string `json:"nodes,omitempty"`
	// evacuation means that the attempt ended because of bad nodes. Such attempts are not included in resettingCount.
	// +optional
	Evacuation bool `json:"evacuation,omitempty"`
}

// Clocks holds the start times of grace periods.
type Clocks struct {
	// attemptStart is when the controller began to create the components. AdmissionGracePeriod and WarmupGracePeriod count from it.
	// +optional
	AttemptStart metav1.MicroTime `json:"attemptStart,omitzero"`
	// notReadySince is when pods that had been ready stopped being ready. Both periods then count from it.
	// +optional
	NotReadySince metav1.MicroTime `json:"notReadySince,omitzero"`
	// unhealthySince is when the workload became unhealthy. FailureGracePeriod counts from it.
	// +optional
	UnhealthySince metav1.MicroTime `json:"unhealthySince,omitzero"`
	// deletionStart is when the controller began to remove the components. ForcefulDeletionGracePeriod counts from it.
	// +optional
	DeletionStart metav1.MicroTime `json:"deletionStart,omitzero"`
	// deletionEnd is when all components were gone. RetryPausePeriod counts from it.
	// +optional
	DeletionEnd metav1.MicroTime `json:"deletionEnd,omitzero"`
	// finished is when the workload succeeded or failed. SuccessTTL or DeletionOnFailureGracePeriod counts from it.
	// +optional
	Finished metav1.MicroTime `json:"finished,omitzero"`
}

// AppWrapperPhase is a phase of the workload's life cycle.
type AppWrapperPhase string

const (
	// Empty is the phase before the first reconcile.
	Empty AppWrapperPhase = ""
	// Suspended means that nothing is deployed and no quota is held.
	Suspended AppWrapperPhase = "Suspended"
	// Resuming means that the components are being created.
	Resuming AppWrapperPhase = "Resuming"
	// Running means that the components were created and are watched.
	Running AppWrapperPhase = "Running"
	// Resetting means that the components are being removed, to be created again after a pause.
	Resetting AppWrapperPhase = "Resetting"
	// Suspending means that the components are being removed, to release the quota.
	Suspending AppWrapperPhase = "Suspending"
	// Succeeded means that the work is done.
	Succeeded AppWrapperPhase = "Succeeded"
	// Failed means that the workload has failed permanently.
	Failed AppWrapperPhase = "Failed"
	// Terminating means that the AppWrapper is being deleted, and its components are being removed.
	Terminating AppWrapperPhase = "Terminating"
)

// AppWrapperCondition is a type of condition.
type AppWrapperCondition string

const (
	// QuotaReserved is True while the workload holds its quota.
	QuotaReserved AppWrapperCondition = "QuotaReserved"
	// ResourcesDeployed is True from the creation of the components until the last object and pod is deleted.
	ResourcesDeployed AppWrapperCondition = "ResourcesDeployed"
	// PodsReady is True while all pods are running or have succeeded.
	PodsReady AppWrapperCondition = "PodsReady"
	// Unhealthy is True while something is wrong with the workload.
	Unhealthy AppWrapperCondition = "Unhealthy"
	// AccessReviewed is False while the components are not created because the webhook did not check whether the user may create them.
	AccessReviewed AppWrapperCondition = "AccessReviewed"
	// DeletingResources is True while the components are being removed.
	DeletingResources AppWrapperCondition = "DeletingResources"

	// ComponentSucceeded is True on a component that has completed its work. Its object may be deleted afterwards.
	ComponentSucceeded AppWrapperCondition = "Succeeded"
)

// Condition reasons. Phases are also used as reasons.
const (
	// ReasonCreateFailed means that the components could not be created within AdmissionGracePeriod.
	ReasonCreateFailed = "CreateFailed"
	// ReasonNotReviewed means that the webhook did not check the AppWrapper, or that its templates have changed since the check.
	ReasonNotReviewed = "NotReviewed"
	// ReasonMissingComponent means that someone else deleted a component.
	ReasonMissingComponent = "MissingComponent"
	// ReasonFailedComponent means that a component reports a failure.
	ReasonFailedComponent = "FailedComponent"
	// ReasonFoundFailedPods means that pods have failed.
	ReasonFoundFailedPods = "FoundFailedPods"
	// ReasonFoundNoFailedPods means that the workload is healthy.
	ReasonFoundNoFailedPods = "FoundNoFailedPods"
	// ReasonRecovering means that pods are unhealthy, and a lower recovery level is handling it.
	ReasonRecovering = "RecoveringBelow"
	// ReasonAutopilotNoExecute means that running pods use resources on bad nodes.
	ReasonAutopilotNoExecute = "AutopilotNoExecute"
	// ReasonInsufficientPodsReady means that not all pods are running.
	ReasonInsufficientPodsReady = "InsufficientPodsReady"
	// ReasonSufficientPodsReady means that all pods are running or have succeeded.
	ReasonSufficientPodsReady = "SufficientPodsReady"
	// ReasonDeletionInitiated means that the components are being removed.
	ReasonDeletionInitiated = "DeletionInitiated"
	// ReasonDeletionComplete means that the components were removed.
	ReasonDeletionComplete = "DeletionComplete"
	// ReasonDeletionPaused means that the components are kept for a while for debugging.
	ReasonDeletionPaused = "DeletionPaused"

	// ReasonComponentCreationInitiated means that a component is about to be created.
	ReasonComponentCreationInitiated = "ComponentCreationInitiated"
	// ReasonComponentCreatedSuccessfully means that a component was created.
	ReasonComponentCreatedSuccessfully = "ComponentCreatedSuccessfully"
	// ReasonComponentCreationErrored means that a component could not be created.
	ReasonComponentCreationErrored = "ComponentCreationErrored"
	// ReasonComponentCreationRefused means that a component definitely does not exist, because the API server rejected it or an earlier
	// one.
	ReasonComponentCreationRefused = "ComponentCreationRefused"
	// ReasonComponentDeleted means that a component was deleted. The spelling is that of the upstream controller.
	ReasonComponentDeleted = "CompononetDeleted"
)
