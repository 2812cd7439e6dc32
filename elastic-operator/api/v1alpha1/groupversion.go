// Package v1alpha1 is the ElasticJob API of group elastic.pytorch.org, a superset of the upstream v1alpha1. Everything that the upstream
// kind accepts is accepted and has the same meaning. All additional fields are optional.
//
// +kubebuilder:object:generate=true
// +groupName=elastic.pytorch.org
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind of the objects of this package.
const Kind = "ElasticJob"

// GroupVersion identifies this API.
var GroupVersion = schema.GroupVersion{Group: "elastic.pytorch.org", Version: "v1alpha1"}

// AddToScheme registers the kinds of this package.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &ElasticJob{}, &ElasticJobList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

//go:generate env GOWORK=off go tool -modfile=../../../tools/codegen/go.mod controller-gen object paths=.
//go:generate env GOWORK=off go tool -modfile=../../../tools/codegen/go.mod controller-gen crd:generateEmbeddedObjectMeta=true paths=. output:crd:dir=../../../charts/elastic-operator/files/crds
//go:generate env GOWORK=off go tool -modfile=../../../tools/codegen/go.mod crd-ref-docs --log-level ERROR --renderer markdown --config ../../../hack/reference/config.yaml --templates-dir ../../../hack/reference/templates --source-path . --output-path ../../../docs/reference/elasticjob.md
