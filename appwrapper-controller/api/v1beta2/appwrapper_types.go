package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
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
	// status is the observed state. Only the controller writes it.
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

// AppWrapperSpec says what to run.
type AppWrapperSpec struct {
	// components are the wrapped objects, created in this order. Their number, templates and pod sets are immutable.
	Components []AppWrapperComponent `json:"components"`
	// suspend removes everything that was created and releases the quota, at any time before the workload has finished. Kueue
	// sets it. Absent means false.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
	// managedBy names the controller that reconciles the object. Absent means this one, whose name is
	// workload.codeflare.dev/appwrapper-controller. It ignores the objects of others. Immutable.
	// +optional
	ManagedBy *string `json:"managedBy,omitempty"`
}

// AppWrapperComponent is one wrapped object.
type AppWrapperComponent struct {
	// annotations are for your own use. The controller ignores them.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
	// podSets describe the pods that the object creates. They are optional for kinds whose pod sets are known.
	// +optional
	DeclaredPodSets []AppWrapperPodSet `json:"podSets,omitempty"`
	// podSetInfos are what Kueue adds to the pods of each set, in the order of the sets. Kueue writes and clears them.
	// +optional
	PodSetInfos []AppWrapperPodSetInfo `json:"podSetInfos,omitempty"`
	// template is the object. Immutable.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:EmbeddedResource
	Template runtime.RawExtension `json:"template"`
}

// AppWrapperPodSet is a number of identical pods.
type AppWrapperPodSet struct {
	// replicas is the number of pods. Absent means 1.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// path leads to the pod template within the component, such as template.spec.workers[0].template.
	Path string `json:"path"`
	// annotations request a topology from Kueue.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Count is the number of pods of the set.
func (s AppWrapperPodSet) Count() int32 { return ptr.Deref(s.Replicas, 1) }

// AppWrapperPodSetInfo is what Kueue adds to the pods of a set. It must not contradict the template.
type AppWrapperPodSetInfo struct {
	// annotations of the pods.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
	// labels of the pods.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// nodeSelector of the pods.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// tolerations of the pods, in addition to those of the template.
	// +optional
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// schedulingGates of the pods, in addition to those of the template.
	// +optional
	SchedulingGates []corev1.PodSchedulingGate `json:"schedulingGates,omitempty"`
}
