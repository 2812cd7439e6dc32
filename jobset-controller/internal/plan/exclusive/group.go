package exclusive

import (
	"cmp"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
)

// Anchor returns the pod whose node determines the domain of its Job, or nil if no pod has a node. That is the leader
// or, while the leader is lost or has no node, any other running pod. The affinity of the next leader attracts it to
// that pod's domain. If there are two leaders, it is the older one, which the Job controller keeps. Pods that have
// finished do not count: the scheduler considers their domain free.
//
// pods must belong to one Job.
func Anchor(pods []*corev1.Pod) *corev1.Pod {
	return first(pods, func(p *corev1.Pod) bool { return p.Spec.NodeName != "" })
}

// Leader returns the living leader, or nil if there is none.
func Leader(pods []*corev1.Pod) *corev1.Pod {
	return first(pods, func(p *corev1.Pod) bool { return Leads(p) })
}

// Waiting returns the oldest follower that is waiting for its domain, or nil if there is none.
func Waiting(pods []*corev1.Pod) *corev1.Pod { return first(pods, Held) }

// first returns the living pod that satisfies is. Of several such pods, it prefers a leader, then the oldest pod, then
// the first by name.
func first(pods []*corev1.Pod, is func(*corev1.Pod) bool) *corev1.Pod {
	var found *corev1.Pod
	for _, p := range pods {
		if policy.Lives(p) && is(p) && (found == nil || goesBefore(p, found)) {
			found = p
		}
	}
	return found
}

func goesBefore(a, b *corev1.Pod) bool {
	if Leads(a) != Leads(b) {
		return Leads(a)
	}
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name)) < 0
}

// Moves lists what to do with the followers of a Job.
type Moves struct {
	// Release lists waiting followers whose domain is known.
	Release []*corev1.Pod
	// Evict lists followers that are running, or may only run, outside the domain of their leader.
	Evict []*corev1.Pod
}

// Plan compares the followers with the domain of their Anchor. domainOf returns the domain of a node, or "" if it is
// unknown. A pod on a node with an unknown domain is not evicted. Followers are evicted only if the leader is alive,
// because only its domain is certain.
func Plan(pods []*corev1.Pod, domain string, domainOf func(node string) string) Moves {
	var m Moves
	anchor := Anchor(pods)
	decided := anchor != nil && Leads(anchor)
	for _, p := range pods {
		if Leads(p) || !policy.Lives(p) {
			continue
		}
		switch {
		case Held(p):
			m.Release = append(m.Release, p)
		case decided && strays(p, domain, domainOf):
			m.Evict = append(m.Evict, p)
		}
	}
	return m
}

// strays reports whether the pod is running in another domain, or is waiting for a node in another domain or in any
// domain.
func strays(p *corev1.Pod, domain string, domainOf func(node string) string) bool {
	if p.Spec.NodeName == "" {
		return p.Spec.NodeSelector[Topology(p)] != domain
	}
	actual := domainOf(p.Spec.NodeName)
	return actual != "" && actual != domain
}

// LeaderKey is the annotation of a pod that is the leader although its index is not 0.
const LeaderKey = "holdfast.dev/exclusive-leader"

const leaderIndex = 0

// LeaderIsOver reports whether the Job controller will create no more pods with index 0, because the index has
// completed or has permanently failed.
func LeaderIsOver(job *batchv1.Job) bool {
	return inplace.Indexes(job.Status.CompletedIndexes).Has(leaderIndex) || inplace.Indexes(ptr.Deref(job.Status.FailedIndexes, "")).Has(leaderIndex)
}

// Leads reports whether the scheduler chooses the domain for this pod.
func Leads(pod metav1.Object) bool {
	index, indexed := pod.GetAnnotations()[batchv1.JobCompletionIndexAnnotation]
	_, elected := pod.GetAnnotations()[LeaderKey]
	return !indexed || index == strconv.Itoa(leaderIndex) || elected
}
