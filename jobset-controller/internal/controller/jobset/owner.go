package jobset

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// owns decides by UID: names are used again and anybody can write labels.
func owns(js *v1alpha2.JobSet, object metav1.Object) bool {
	return metav1.IsControlledBy(object, js)
}

// exactly makes a delete apply to this object and to no later one of the same name.
func exactly(object metav1.Object) client.Preconditions {
	uid := object.GetUID()
	return client.Preconditions{UID: &uid}
}
