package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AppWrapper runs the objects it wraps as one workload: they get quota, start, fail, are reset, suspended and removed together.
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
// +kubebuilder:printcolumn:name="Ready",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="PodsReady")].status`,description="Whether all pods run or have succeeded"
// +kubebuilder:printcolumn:name="Resets",type=integer,priority=1,JSONPath=".status.resettingCount",description="How often the workload was reset, node evacuations not counted"
// +kubebuilder:printcolumn:name="Evacuations",type=integer,priority=1,JSONPath=".status.evacuations",description="How often the workload was moved away from bad nodes"
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Unhealthy")].reason`,description="What was last found wrong, or right"
type AppWrapper struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what to run.
	// +optional
	Spec AppWrapperSpec `json:"spec,omitempty"`
	// status says what has become of it. Written by the controller only.
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
