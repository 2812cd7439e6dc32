package v1beta2

// Labels, finalizers and names on AppWrappers and wrapped objects.
const (
	// AppWrapperLabel holds the name of the AppWrapper, on each wrapped object and on each pod of a pod set.
	AppWrapperLabel = "workload.codeflare.dev/appwrapper"
	// ComponentLabel holds the index of the component, on each pod of a pod set. Pods of the published controller do not have it.
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
	// PodIndexLabelKey names the label with the index of a pod.
	PodIndexLabelKey = annotationPrefix + "tas-pod-index-label"
	// SubGroupIndexLabelKey names the label with the index of a group of pods.
	SubGroupIndexLabelKey = annotationPrefix + "tas-sub-group-index-label"
	// SubGroupCountKey holds the number of groups.
	SubGroupCountKey = annotationPrefix + "tas-sub-group-count"
)
