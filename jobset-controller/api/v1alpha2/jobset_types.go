package v1alpha2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// JobSet runs several groups of Jobs as one workload: they start, fail, restart, suspend and finish together.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=jobsets,scope=Namespaced
// +kubebuilder:printcolumn:name="TerminalState",type=string,JSONPath=".status.terminalState",description="Completed or Failed once the JobSet has finished"
// +kubebuilder:printcolumn:name="Restarts",type=string,JSONPath=".status.restarts",description="How often all Jobs were recreated"
// +kubebuilder:printcolumn:name="Completed",type=string,JSONPath=`.status.conditions[?(@.type=="Completed")].status`
// +kubebuilder:printcolumn:name="Suspended",type=string,JSONPath=".spec.suspend",description="Whether spec.suspend is set"
// +kubebuilder:printcolumn:name="Running",type=string,JSONPath=`.status.conditions[?(@.type=="Running")].status`,description="Whether all Jobs are ready or have succeeded"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Running")].reason`,description="What is waited for if they are not"
// +kubebuilder:printcolumn:name="In-Place",type=string,JSONPath=`.metadata.annotations.alpha\.jobset\.sigs\.k8s\.io/inplace-restarts`,description="Restarts that were charged to the budget, in place and by recreation"
// +kubebuilder:printcolumn:name="Training",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="InPlaceInSync")].status`,description="True while all workers run in sync; only with in-place restarts"
// +kubebuilder:printcolumn:name="State",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="InPlaceInSync")].reason`,description="What the workers do, or wait for"
// +kubebuilder:printcolumn:name="Waiting-For",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="InPlaceInSync")].message`,description="The same at length"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=".metadata.creationTimestamp"
type JobSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what to run.
	// +optional
	Spec JobSetSpec `json:"spec,omitempty"`
	// status is the observed state. Only controllers write it.
	// +optional
	Status JobSetStatus `json:"status,omitempty"`
}

// JobSetList is a list of JobSets.
//
// +kubebuilder:object:root=true
type JobSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []JobSet `json:"items"`
}
