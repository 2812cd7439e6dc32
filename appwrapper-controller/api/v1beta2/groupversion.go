// Package v1beta2 holds the AppWrapper API of group workload.codeflare.dev. It is a wire superset of the published v1beta2: what
// the published kind accepts is accepted here and means the same. The fields that are added are optional and in the status;
// a controller that does not find them, because another program wrote the object, goes by the conditions.
//
// +kubebuilder:object:generate=true
// +groupName=workload.codeflare.dev
package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind of the objects of this package.
const Kind = "AppWrapper"

var (
	// GroupVersion identifies this API.
	GroupVersion = schema.GroupVersion{Group: "workload.codeflare.dev", Version: "v1beta2"}

	// SchemeBuilder collects what AddToScheme registers.
	SchemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme makes the kinds of this package known to a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &AppWrapper{}, &AppWrapperList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

//go:generate env GOWORK=off go tool -modfile=../../../tools/codegen/go.mod controller-gen object paths=.
//go:generate env GOWORK=off go tool -modfile=../../../tools/codegen/go.mod controller-gen crd paths=. output:crd:dir=../../../charts/appwrapper-controller/files/crds
