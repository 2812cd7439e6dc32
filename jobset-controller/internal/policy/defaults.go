package policy

import (
	"cmp"
	"slices"

	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// Network returns the network of a spec, with the defaults that admission sets.
func Network(spec *v1alpha2.JobSetSpec) *v1alpha2.Network {
	n := ptr.Deref(spec.Network, v1alpha2.Network{})
	n.EnableDNSHostnames = cmp.Or(n.EnableDNSHostnames, ptr.To(true))
	n.PublishNotReadyAddresses = cmp.Or(n.PublishNotReadyAddresses, ptr.To(true))
	return &n
}

// SuccessPolicy returns the success policy of a spec. By default all Jobs must succeed.
func SuccessPolicy(spec *v1alpha2.JobSetSpec) *v1alpha2.SuccessPolicy {
	return cmp.Or(spec.SuccessPolicy, &v1alpha2.SuccessPolicy{Operator: v1alpha2.OperatorAll})
}

// StartupPolicy returns the startup policy of a spec. The default is AnyOrder.
func StartupPolicy(spec *v1alpha2.JobSetSpec) *v1alpha2.StartupPolicy {
	p := ptr.Deref(spec.StartupPolicy, v1alpha2.StartupPolicy{})
	p.StartupPolicyOrder = cmp.Or(p.StartupPolicyOrder, v1alpha2.AnyOrder)
	return &p
}

// Ours reports whether the JobSet controller manages the JobSet, rather than another controller such as MultiKueue.
func Ours(js *v1alpha2.JobSet) bool {
	return ptr.Deref(js.Spec.ManagedBy, v1alpha2.JobSetControllerName) == v1alpha2.JobSetControllerName
}

// PlacedByWebhook reports whether the JobSet or one of its Job templates requests exclusive placement by the webhook for
// pods.
func PlacedByWebhook(js *v1alpha2.JobSet) bool {
	requests := func(annotations map[string]string) bool {
		_, exclusive := annotations[v1alpha2.ExclusiveKey]
		_, byNodeSelector := annotations[v1alpha2.NodeSelectorStrategyKey]
		return exclusive && !byNodeSelector
	}
	onTemplate := func(rjob v1alpha2.ReplicatedJob) bool { return requests(rjob.Template.Annotations) }
	return requests(js.Annotations) || slices.ContainsFunc(js.Spec.ReplicatedJobs, onTemplate)
}
