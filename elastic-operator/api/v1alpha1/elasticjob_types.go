package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ElasticJob is a distributed training job that continues while enough workers are left, and includes new workers when they start.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicaSpecs.Worker.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:path=elasticjobs,scope=Namespaced
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=".status.state",description="State of the job"
// +kubebuilder:printcolumn:name="Active",type=integer,JSONPath=".status.replicaStatuses.Worker.active",description="Running workers"
// +kubebuilder:printcolumn:name="Desired",type=integer,JSONPath=".spec.replicaSpecs.Worker.replicas"
// +kubebuilder:printcolumn:name="Min",type=integer,JSONPath=".spec.minReplicas"
// +kubebuilder:printcolumn:name="Max",type=integer,JSONPath=".spec.maxReplicas"
// +kubebuilder:printcolumn:name="Restarts",type=integer,JSONPath=".status.restarts",description="Failures of worker programs"
// +kubebuilder:printcolumn:name="Disruptions",type=integer,JSONPath=".status.disruptions",description="Workers that were evicted, preempted or lost"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="Round",type=integer,priority=1,JSONPath=".status.rendezvous.round",description="Round of the managed rendezvous"
// +kubebuilder:printcolumn:name="Waiting-For",type=string,priority=1,JSONPath=".status.message",description="What the job waits for, or why it ended"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 50 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name must begin with a letter, contain only lowercase letters, digits and dashes, end with a letter or digit, and have at most 50 characters: the names of the workers' services are derived from it"
type ElasticJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state of the job.
	Spec ElasticJobSpec `json:"spec"`
	// status is the observed state of the job. Only the operator writes it.
	// +optional
	Status ElasticJobStatus `json:"status,omitempty"`
}

// ElasticJobList is a list of ElasticJobs.
//
// +kubebuilder:object:root=true
type ElasticJobList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ElasticJob `json:"items"`
}
