// Package v1alpha1 holds the ElasticJob API of group elastic.pytorch.org. What the published v1alpha1 wrote and accepted is accepted here
// and means what its documentation said; fields that are added are optional.
//
// +kubebuilder:object:generate=true
// +groupName=elastic.pytorch.org
package v1alpha1

//go:generate env GOWORK=off go tool -modfile=../../../tools/codegen/go.mod controller-gen object paths=.
//go:generate env GOWORK=off go tool -modfile=../../../tools/codegen/go.mod controller-gen crd:generateEmbeddedObjectMeta=true paths=. output:crd:dir=../../../charts/elastic-operator/files/crds
//go:generate env GOWORK=off go tool -modfile=../../../tools/codegen/go.mod crd-ref-docs --log-level ERROR --renderer markdown --config ../../../hack/reference/config.yaml --templates-dir ../../../hack/reference/templates --source-path . --output-path ../../../docs/reference/elasticjob.md
