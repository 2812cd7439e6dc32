// Package plan builds the objects that a JobSet owns. It is pure: the same JobSet gives the same objects. Defaults that the
// published webhook would have filled in are applied here, so that objects without them are built alike.
package plan

import (
	"strconv"

	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// JobName gives "<jobset>-<replicatedJob>-<index>".
func JobName(jobSet, rjob string, index int) string {
	return string(AppendJobName(nil, jobSet, rjob, index))
}

// AppendJobName appends JobName to a buffer, which callers with thousands of names use again and again.
func AppendJobName(to []byte, jobSet, rjob string, index int) []byte {
	to = append(append(append(append(to, jobSet...), '-'), rjob...), '-')
	return strconv.AppendInt(to, int64(index), 10)
}

// Subdomain of the pods, which is also the name of the headless Service. It defaults to the name of the JobSet here and not at
// admission, because a generated name is not known there.
func Subdomain(js *v1alpha2.JobSet) string {
	if js.Spec.Network != nil && js.Spec.Network.Subdomain != "" {
		return js.Spec.Network.Subdomain
	}
	return js.Name
}

// WantsService reports whether pods get DNS names, which is the default.
func WantsService(js *v1alpha2.JobSet) bool {
	return js.Spec.Network == nil || ptr.Deref(js.Spec.Network.EnableDNSHostnames, true)
}

// CoordinatorAddress is the DNS name of the coordinator pod within the namespace.
func CoordinatorAddress(js *v1alpha2.JobSet) string {
	c := js.Spec.Coordinator
	return JobName(js.Name, c.ReplicatedJob, c.JobIndex) + "-" + strconv.Itoa(c.PodIndex) + "." + Subdomain(js)
}
