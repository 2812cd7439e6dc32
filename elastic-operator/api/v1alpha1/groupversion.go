package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind of the objects of this package.
const Kind = "ElasticJob"

var (
	// GroupVersion identifies this API.
	GroupVersion = schema.GroupVersion{Group: "elastic.pytorch.org", Version: "v1alpha1"}

	// SchemeBuilder collects what AddToScheme registers.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme makes the kinds of this package known to a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &ElasticJob{}, &ElasticJobList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
