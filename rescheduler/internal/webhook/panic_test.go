package webhook

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// A panic here must not prevent the creation of pods.
func TestPanicDoesNotRejectPod(t *testing.T) {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "a", OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "a", UID: "a", Controller: ptr.To(true)}},
	}}
	raw, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	var counted []string
	h := &Handler{Count: func(result string) { counted = append(counted, result) }} // without a resolver for owners, it panics
	request := admission.Request{}
	request.Namespace, request.Object = "default", runtime.RawExtension{Raw: raw}
	if response := h.Handle(t.Context(), request); !response.Allowed || len(response.Patches) != 0 {
		t.Errorf("got %+v", response)
	}
	if len(counted) != 1 || counted[0] != Unknown {
		t.Errorf("counted %v", counted)
	}
}
