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
	// InPlaceTimeoutKey is an annotation of ElasticJobs that asks for restarts in place, and bounds the time that one may take, as a duration such
	// as "60s": while the set of workers stays as it is, a worker whose program fails has the processes of all restarted within their
	// containers, and no pod is replaced. A worker that does not come back in that time is replaced. It is the key of JobSets.
	InPlaceTimeoutKey = "alpha.jobset.sigs.k8s.io/inplace-timeout"
	// InPlaceContainerKey names the container that is restarted, where the pods have several. It is the key of JobSets.
	InPlaceContainerKey = "holdfast.dev/inplace-container"
	// QueueLabel of an ElasticJob names the queue of Kueue.
	QueueLabel = "kueue.x-k8s.io/queue-name"
	// ControllerName is the value of spec.managedBy that means this operator.
	ControllerName = "elastic.pytorch.org/elastic-job-controller"
)
