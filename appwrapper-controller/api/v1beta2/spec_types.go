package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
)

// AppWrapperSpec says what to run.
type AppWrapperSpec struct {
	// components are the wrapped objects, created in this order. Their number, templates and pod sets do not change.
	Components []AppWrapperComponent `json:"components"`
	// suspend asks to remove all that was created and to give the quota back, at any point of the life of an unfinished
	// workload. Kueue sets it. Absent means false.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
	// managedBy names the controller that answers for the object. Absent means this one, whose name is
	// workload.codeflare.dev/appwrapper-controller; objects of others are left alone entirely. It does not change.
	// +optional
	ManagedBy *string `json:"managedBy,omitempty"`
}

// AppWrapperComponent is one wrapped object.
type AppWrapperComponent struct {
	// annotations are free for users; the controller does not read them.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
	// podSets say which pods the object makes. They may be left out for kinds whose pod sets are known.
	// +optional
	DeclaredPodSets []AppWrapperPodSet `json:"podSets,omitempty"`
	// podSetInfos are what Kueue wants to have in the pods of each set, in the order of the sets. Kueue writes and clears them.
	// +optional
	PodSetInfos []AppWrapperPodSetInfo `json:"podSetInfos,omitempty"`
	// template is the object. It does not change.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:EmbeddedResource
	Template runtime.RawExtension `json:"template"`
}

// AppWrapperPodSet is a number of pods that are alike.
type AppWrapperPodSet struct {
	// replicas is the number of pods. Absent means 1.
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// path leads to the pod template within the component, such as template.spec.workers[0].template.
	Path string `json:"path"`
	// annotations tell Kueue how to place the pods by topology.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Count is the number of pods of the set.
func (s AppWrapperPodSet) Count() int32 { return ptr.Deref(s.Replicas, 1) }

// AppWrapperPodSetInfo is what Kueue wants to have in the pods of a set. What the template has already must not differ.
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
