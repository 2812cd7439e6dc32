package policy

import (
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// Network of a spec with the defaults that admission fills in.
func Network(spec *v1alpha2.JobSetSpec) *v1alpha2.Network {
	n := &v1alpha2.Network{}
	if spec.Network != nil {
		n = spec.Network.DeepCopy()
	}
	if n.EnableDNSHostnames == nil {
		n.EnableDNSHostnames = ptr.To(true)
	}
	if n.PublishNotReadyAddresses == nil {
		n.PublishNotReadyAddresses = ptr.To(true)
	}
	return n
}

// SuccessPolicy of a spec: all Jobs must succeed if it has none.
func SuccessPolicy(spec *v1alpha2.JobSetSpec) *v1alpha2.SuccessPolicy {
	if spec.SuccessPolicy == nil {
		return &v1alpha2.SuccessPolicy{Operator: v1alpha2.OperatorAll}
	}
	return spec.SuccessPolicy
}

// StartupPolicy of a spec: any order if it names none.
func StartupPolicy(spec *v1alpha2.JobSetSpec) *v1alpha2.StartupPolicy {
	p := &v1alpha2.StartupPolicy{}
	if spec.StartupPolicy != nil {
		p = spec.StartupPolicy.DeepCopy()
	}
	if p.StartupPolicyOrder == "" {
		p.StartupPolicyOrder = v1alpha2.AnyOrder
	}
	return p
}
