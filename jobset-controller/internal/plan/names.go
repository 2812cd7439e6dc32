// Package plan builds the objects that a JobSet owns. It is pure: the same JobSet yields the same objects. It applies the defaults
// of the published webhook, so objects that were created without that webhook are built the same way.
package plan

import (
	"strconv"

	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// JobName returns "<jobset>-<replicatedJob>-<index>".
func JobName(jobSet, rjob string, index int) string {
	return string(AppendJobName(nil, jobSet, rjob, index))
}

// AppendJobName appends JobName to a buffer. Callers that build thousands of names reuse the buffer.
func AppendJobName(to []byte, jobSet, rjob string, index int) []byte {
	to = append(append(append(append(to, jobSet...), '-'), rjob...), '-')
	return strconv.AppendInt(to, int64(index), 10)
}

// Subdomain returns the subdomain of the pods, which is also the name of the headless Service. The name of the JobSet is the
// default here and not at admission, where a generated name is not known yet.
func Subdomain(js *v1alpha2.JobSet) string {
	if js.Spec.Network != nil && js.Spec.Network.Subdomain != "" {
		return js.Spec.Network.Subdomain
	}
	return js.Name
}

// WantsService reports whether the pods get DNS names. They do by default.
func WantsService(js *v1alpha2.JobSet) bool {
	return js.Spec.Network == nil || ptr.Deref(js.Spec.Network.EnableDNSHostnames, true)
}

// CoordinatorAddress returns the DNS name of the coordinator pod within the namespace.
func CoordinatorAddress(js *v1alpha2.JobSet) string {
	c := js.Spec.Coordinator
	return JobName(js.Name, c.ReplicatedJob, c.JobIndex) + "-" + strconv.Itoa(c.PodIndex) + "." + Subdomain(js)
}
