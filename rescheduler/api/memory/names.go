package memory

// Annotations. The first four are those of the design document.
const (
	RetriesAnnotation  = "schedulingRetries"
	WorkloadAnnotation = "sigs.k8s.io/deploy"
	HostsAnnotation    = "sigs.k8s.io/scheduledHosts"
	PodAnnotation      = "sigs.k8s.io/pod" // the document has the type, not the name

	// Annotation is for what the document's annotations have no place for: a record with reasons and times.
	Annotation = "holdfast.dev/rescheduling"
)

// FilterMessage is what the scheduler plugin says of a node that it keeps a pod away from. It ends up in the condition
// PodScheduled of a pod that fits nowhere, where the controller sees that the plugin took part in it.
const FilterMessage = "node(s) on which the pod's workload has failed"
