// Package v1alpha2 holds the JobSet API of group jobset.x-k8s.io. It is a wire-compatible superset of upstream
// v1alpha2: every object that is valid upstream is accepted here and means the same.
//
// The upstream admission webhook sets some defaults. This package does not rely on that: a field whose comment says
// "absent means" may be nil in any object that a controller reads.
//
// +kubebuilder:object:generate=true
// +groupName=jobset.x-k8s.io
package v1alpha2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	// GroupVersion identifies this API.
	GroupVersion = schema.GroupVersion{Group: "jobset.x-k8s.io", Version: "v1alpha2"}

	// SchemeBuilder collects the functions that AddToScheme calls.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme adds the kinds of this package to a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)

// Resource returns a resource name with the group.
func Resource(resource string) schema.GroupResource {
	return GroupVersion.WithResource(resource).GroupResource()
}

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &JobSet{}, &JobSetList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

//go:generate env GOWORK=off go tool -modfile=../../../tools/codegen/go.mod controller-gen object paths=.
//go:generate env GOWORK=off go tool -modfile=../../../tools/codegen/go.mod controller-gen crd:generateEmbeddedObjectMeta=true paths=. output:crd:dir=../../../charts/jobset-controller/files/crds
//go:generate env GOWORK=off go tool -modfile=../../../tools/codegen/go.mod crd-ref-docs --log-level ERROR --renderer markdown --config ../../../hack/reference/config.yaml --templates-dir ../../../hack/reference/templates --source-path . --output-path ../../../docs/reference/jobset.md
