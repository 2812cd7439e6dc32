package plan

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// Service builds the headless Service that gives the pods their DNS names. The controller selects these Services by the label,
// which the published controller does not set, so that it watches no others.
func Service(js *v1alpha2.JobSet) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Name:            Subdomain(js),
			Namespace:       js.Namespace,
			Labels:          map[string]string{v1alpha2.JobSetNameKey: js.Name},
			OwnerReferences: []metav1.OwnerReference{ownedBy(js)},
		},
		Spec: corev1.ServiceSpec{
			ClusterIP:                corev1.ClusterIPNone,
			Selector:                 map[string]string{v1alpha2.JobSetNameKey: js.Name},
			PublishNotReadyAddresses: publishesNotReady(js),
		},
	}
}

func publishesNotReady(js *v1alpha2.JobSet) bool {
	return js.Spec.Network == nil || ptr.Deref(js.Spec.Network.PublishNotReadyAddresses, true)
}
