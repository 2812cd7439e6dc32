// Package v1beta2 is the AppWrapper API of group workload.codeflare.dev, a superset of the upstream v1beta2. Everything that the upstream
// kind accepts is accepted and has the same meaning. All additional fields are optional and part of the status. If another program wrote
// the object and they are missing, the controller relies on the conditions.
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

// GroupVersion identifies this API.
var GroupVersion = schema.GroupVersion{Group: "workload.codeflare.dev", Version: "v1beta2"}

// AddToScheme registers the kinds of this package.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &AppWrapper{}, &AppWrapperList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

//go:generate env GOWORK=off go tool -modfile=../../../tools/codegen/go.mod controller-gen object paths=.
//go:generate env GOWORK=off go tool -modfile=../../../tools/codegen/go.mod controller-gen crd paths=. output:crd:dir=../../../charts/appwrapper-controller/files/crds
//go:generate env GOWORK=off go tool -modfile=../../../tools/codegen/go.mod crd-ref-docs --log-level ERROR --renderer markdown --config ../../../hack/reference/config.yaml --templates-dir ../../../hack/reference/templates --source-path . --output-path ../../../docs/reference/appwrapper.md
