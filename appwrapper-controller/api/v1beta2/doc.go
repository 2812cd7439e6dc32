// Package v1beta2 holds the AppWrapper API of group workload.codeflare.dev. It is a wire superset of the published v1beta2: what
// the published kind accepts is accepted here and means the same. The fields that are added are optional and in the status;
// a controller that does not find them, because another program wrote the object, goes by the conditions.
//
// +kubebuilder:object:generate=true
// +groupName=workload.codeflare.dev
package v1beta2

//go:generate env GOWORK=off go tool -modfile=../../../tools/codegen/go.mod controller-gen object paths=.
//go:generate env GOWORK=off go tool -modfile=../../../tools/codegen/go.mod controller-gen crd paths=. output:crd:dir=../../../charts/appwrapper-controller/files/crds
