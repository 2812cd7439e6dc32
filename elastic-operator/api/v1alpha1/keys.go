package v1alpha1

// Labels of pods and services. The keys are the published ones and have no prefix.
const (
	// GroupNameLabel holds GroupName.
	GroupNameLabel = "group-name"
	// GroupName is the value of GroupNameLabel.
	GroupName = "elastic.pytorch.org"
	// JobNameLabel holds the name of the ElasticJob.
	JobNameLabel = "job-name"
	// ReplicaTypeLabel holds ReplicaTypeWorker.
	ReplicaTypeLabel = "replica-type"
	// ReplicaIndexLabel holds the index of a worker.
	ReplicaIndexLabel = "replica-index"
	// ReplicaTypeWorker is the value of ReplicaTypeLabel for workers.
	ReplicaTypeWorker = "worker"
	// ReplicaTypeRendezvous is its value for the managed rendezvous server.
	ReplicaTypeRendezvous = "rendezvous"
)

const (
	// InjectArgumentsKey is an annotation of ElasticJobs. "true" puts the launcher's arguments (--rdzv_backend and so on) before those of
	// each worker's first container, for images that know no PET_ variables.
	InjectArgumentsKey = "elastic.holdfast.dev/inject-launcher-arguments"
	// QueueLabel of an ElasticJob names the queue of Kueue.
	QueueLabel = "kueue.x-k8s.io/queue-name"
	// ControllerName is the value of spec.managedBy that means this operator.
	ControllerName = "elastic.pytorch.org/elastic-job-controller"
)
