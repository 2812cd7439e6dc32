// Package plan builds the objects that a JobSet owns. It performs no I/O: the same JobSet always results in the same
// objects. It applies the defaults of the upstream webhook, so that JobSets created without that webhook are handled in
// the same way.
package plan

import (
	"cmp"
	"crypto/sha1"
	"encoding/hex"
	"maps"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/inject"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
)

// identity returns the keys that are set on a Job and its pods both as labels and as annotations.
func (b *Builder) identity(rjobIndex, index int) map[string]string {
	js, rjob := b.jobSet, &b.jobSet.Spec.ReplicatedJobs[rjobIndex]
	group, first := groupOf(rjob), b.layout.first[rjobIndex]
	keys := map[string]string{
		v1alpha2.JobSetNameKey:         js.Name,
		v1alpha2.JobSetUIDKey:          string(js.UID),
		v1alpha2.ReplicatedJobNameKey:  rjob.Name,
		v1alpha2.ReplicatedJobReplicas: decimal(int64(rjob.Replicas)),
		v1alpha2.GlobalReplicasKey:     decimal(b.layout.total),
		v1alpha2.JobIndexKey:           decimal(int64(index)),
		v1alpha2.JobGlobalIndexKey:     decimal(first.Global + int64(index)),
		v1alpha2.JobKey:                jobKey(js.Namespace, JobName(js.Name, rjob.Name, index)),
		v1alpha2.RestartsKey:           decimal(int64(js.Status.Restarts)),
		v1alpha2.GroupNameKey:          group,
		v1alpha2.GroupReplicasKey:      decimal(b.layout.groups[group]),
		v1alpha2.JobGroupIndexKey:      decimal(first.Group + int64(index)),
	}
	if restarts := b.layout.restartsOf(rjob.Name, index); b.CountsSingle || restarts > 0 {
		keys[v1alpha2.JobRestartsKey] = decimal(int64(restarts))
	}
	if js.Spec.Coordinator != nil {
		keys[v1alpha2.CoordinatorKey] = CoordinatorAddress(js)
	}
	return keys
}

// jobKey hashes the namespace and the name, which together are too long for a label value. SHA-1 is the upstream
// format. It is not used for security.
func jobKey(namespace, job string) string {
	sum := sha1.Sum([]byte(namespace + "/" + job))
	return hex.EncodeToString(sum[:])
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// merged returns a new map with the keys of all maps. Later maps take precedence.
func merged(all ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, m := range all {
		maps.Copy(out, m)
	}
	return out
}

// DefaultGroup is the group of a replicatedJob that does not name one.
const DefaultGroup = "default"

// layout numbers the Jobs of a JobSet, across all replicatedJobs and within each group. It is computed once for all
// Jobs, so that building n Jobs takes O(n) time.
type layout struct {
	total  int64
	groups map[string]int64
	first  []inject.First     // by replicatedJob
	single map[string][]int32 // see policy.JobRestarts
}

func newLayout(js *v1alpha2.JobSet) layout {
	spec := &js.Spec
	l := layout{single: policy.JobRestarts(&js.Status), groups: map[string]int64{}, first: make([]inject.First, len(spec.ReplicatedJobs))}
	for i := range spec.ReplicatedJobs {
		rjob := &spec.ReplicatedJobs[i]
		group := groupOf(rjob)
		l.first[i] = inject.First{Global: l.total, Group: l.groups[group]}
		l.total += int64(rjob.Replicas)
		l.groups[group] += int64(rjob.Replicas)
	}
	return l
}

func groupOf(rjob *v1alpha2.ReplicatedJob) string { return cmp.Or(rjob.GroupName, DefaultGroup) }

// restartsOf returns how often the Job was restarted individually.
func (l layout) restartsOf(rjob string, index int) int32 {
	if counts := l.single[rjob]; index < len(counts) {
		return counts[index]
	}
	return 0
}

// JobName returns "<jobset>-<replicatedJob>-<index>".
func JobName(jobSet, rjob string, index int) string {
	return string(AppendJobName(nil, jobSet, rjob, index))
}

// AppendJobName appends the name of a Job to a buffer. Callers that build thousands of names reuse the buffer.
func AppendJobName(to []byte, jobSet, rjob string, index int) []byte {
	to = append(append(append(append(to, jobSet...), '-'), rjob...), '-')
	return strconv.AppendInt(to, int64(index), 10)
}

// Subdomain returns the subdomain of the pods, which is also the name of the headless Service. The default, the name of
// the JobSet, is applied here and not at admission, where a generated name is not known yet.
func Subdomain(js *v1alpha2.JobSet) string {
	if js.Spec.Network != nil && js.Spec.Network.Subdomain != "" {
		return js.Spec.Network.Subdomain
	}
	return js.Name
}

// WantsService reports whether the pods get DNS names, which is the default.
func WantsService(js *v1alpha2.JobSet) bool {
	return js.Spec.Network == nil || ptr.Deref(js.Spec.Network.EnableDNSHostnames, true)
}

// CoordinatorAddress returns the DNS name of the coordinator pod within the namespace.
func CoordinatorAddress(js *v1alpha2.JobSet) string {
	c := js.Spec.Coordinator
	return JobName(js.Name, c.ReplicatedJob, c.JobIndex) + "-" + strconv.Itoa(c.PodIndex) + "." + Subdomain(js)
}

// Service builds the headless Service that gives the pods their DNS names. The controller selects these Services by a
// label that the upstream controller does not set, so that it watches no others.
func Service(js *v1alpha2.JobSet) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Name:            Subdomain(js),
			Namespace:       js.Namespace,
			Labels:          map[string]string{v1alpha2.JobSetNameKey: js.Name},
			OwnerReferences: []metav1.OwnerReference{ownedBy(js)},
		},
		Spec: corev1.ServiceSpec{
			ClusterIP:                corev1.ClusterIPNone,
			Selector:                 map[string]string{v1alpha2.JobSetNameKey: js.Name},
			PublishNotReadyAddresses: *policy.Network(&js.Spec).PublishNotReadyAddresses,
		},
	}
}
