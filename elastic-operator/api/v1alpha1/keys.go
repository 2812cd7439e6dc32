package v1alpha1

// Labels of pods and services. The keys are those of the published controller, without a prefix.
const (
	// GroupNameLabel marks the pods and services of all ElasticJobs. Its value is GroupName.
	GroupNameLabel = "group-name"
	// GroupName is the value of GroupNameLabel.
	GroupName = "elastic.pytorch.org"
	// JobNameLabel is the name of the ElasticJob.
	JobNameLabel = "job-name"
	// ReplicaTypeLabel is ReplicaTypeWorker or ReplicaTypeRendezvous.
	ReplicaTypeLabel = "replica-type"
	// ReplicaIndexLabel is the index of a worker.
	ReplicaIndexLabel = "replica-index"
	// ReplicaTypeWorker is the value of ReplicaTypeLabel for workers.
	ReplicaTypeWorker = "worker"
	// ReplicaTypeRendezvous is the value of ReplicaTypeLabel for the managed rendezvous server.
	ReplicaTypeRendezvous = "rendezvous"
)

const (
	// InjectArgumentsKey is an annotation of ElasticJobs. The value "true" prepends launcher arguments such as --rdzv_backend to the
	// arguments of each worker's first container. Images with a launcher that does not read PET_ variables need it.
	InjectArgumentsKey = "elastic.holdfast.dev/inject-launcher-arguments"
	// InPlaceTimeoutKey is an annotation of ElasticJobs that enables in-place restarts. Its value is a duration such as "60s", the timeout
	// of one restart. When a worker's program fails and the set of workers does not change, the processes of all workers are restarted
	// inside their containers and no pod is replaced. A worker that is not back within the timeout is replaced. JobSets use the same key.
	InPlaceTimeoutKey = "alpha.jobset.sigs.k8s.io/inplace-timeout"
	// InPlaceContainerKey is an annotation that names the container to restart. It is required if the pods have several containers.
	// JobSets use the same key.
	InPlaceContainerKey = "holdfast.dev/inplace-container"
	// QueueLabel is a label of ElasticJobs that names a Kueue queue.
	QueueLabel = "kueue.x-k8s.io/queue-name"
	// ControllerName is the value of spec.managedBy for this operator.
	ControllerName = "elastic.pytorch.org/elastic-job-controller"
)
