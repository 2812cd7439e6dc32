package v1beta2

// Keys on AppWrappers and what they wrap.
const (
	// AppWrapperLabel holds the name of the AppWrapper, on each wrapped object and on each pod of a pod set.
	AppWrapperLabel = "workload.codeflare.dev/appwrapper"
	// ComponentLabel holds the index of the component, on each pod of a pod set. Pods of the published controller lack it.
	ComponentLabel = "holdfast.dev/appwrapper-component"
	// UserLabel holds the name of the user who created the AppWrapper, fit for a label.
	UserLabel = "workload.codeflare.dev/user"
	// UserIDLabel holds the UID of that user, fit for a label.
	UserIDLabel = "workload.codeflare.dev/userid"
	// QueueLabel names the queue of Kueue.
	QueueLabel = "kueue.x-k8s.io/queue-name"
	// Finalizer keeps an AppWrapper until all that it created is gone.
	Finalizer = "workload.codeflare.dev/finalizer"
	// ControllerName is the value of spec.managedBy that means this controller.
	ControllerName = "workload.codeflare.dev/appwrapper-controller"
)

// Annotations of AppWrappers, set by users. Durations are as in "90s" or "1h30m".
const (
	annotationPrefix = "workload.codeflare.dev.appwrapper/"

	// AdmissionGracePeriodKey: how long the pods may take to exist.
	AdmissionGracePeriodKey = annotationPrefix + "admissionGracePeriodDuration"
	// WarmupGracePeriodKey: how long the pods may take to run.
	WarmupGracePeriodKey = annotationPrefix + "warmupGracePeriodDuration"
	// FailureGracePeriodKey: how long the controllers of the components have to make good what is wrong with pods.
	FailureGracePeriodKey = annotationPrefix + "failureGracePeriodDuration"
	// RetryPausePeriodKey: the time between the removal of the components and their next creation.
	RetryPausePeriodKey = annotationPrefix + "retryPausePeriodDuration"
	// RetryLimitKey: how many resets there may be.
	RetryLimitKey = annotationPrefix + "retryLimit"
	// ForcefulDeletionGracePeriodKey: how long a removal may take before it is forced.
	ForcefulDeletionGracePeriodKey = annotationPrefix + "forcefulDeletionGracePeriodDuration"
	// DeletionOnFailureGracePeriodKey: how long the components of a failed workload, and its quota, are kept.
	DeletionOnFailureGracePeriodKey = annotationPrefix + "deletionOnFailureGracePeriodDuration"
	// SuccessTTLKey: how long the components of a workload that succeeded are kept.
	SuccessTTLKey = annotationPrefix + "successTTLDuration"
	// TerminalExitCodesKey: exit codes after which there is no reset, such as "3,10".
	TerminalExitCodesKey = annotationPrefix + "terminalExitCodes"
	// RetryableExitCodesKey: the exit codes after which there is a reset; any other is terminal.
	RetryableExitCodesKey = annotationPrefix + "retryableExitCodes"
)

// Annotations of pod sets that Kueue reads for placement by topology.
const (
	// PodIndexLabelKey names the label that has the index of a pod.
	PodIndexLabelKey = annotationPrefix + "tas-pod-index-label"
	// SubGroupIndexLabelKey names the label that has the index of a group of pods.
	SubGroupIndexLabelKey = annotationPrefix + "tas-sub-group-index-label"
	// SubGroupCountKey holds the number of groups.
	SubGroupCountKey = annotationPrefix + "tas-sub-group-count"
)
