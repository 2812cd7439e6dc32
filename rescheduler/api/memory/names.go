package memory

// Annotations. The design document defines the first four.
const (
	RetriesAnnotation  = "schedulingRetries"
	WorkloadAnnotation = "sigs.k8s.io/deploy"
	HostsAnnotation    = "sigs.k8s.io/scheduledHosts"
	PodAnnotation      = "sigs.k8s.io/pod" // the document defines the type, but not the name

	// Annotation holds what the annotations of the document have no place for: a record with reasons and times.
	Annotation = "holdfast.dev/rescheduling"
)

// FilterMessage is the scheduler plugin's message about an excluded node. It appears in the condition PodScheduled of a pod that fits
// nowhere, from which the controller knows that exclusions are involved.
const FilterMessage = "node(s) on which the pod's workload has failed"
