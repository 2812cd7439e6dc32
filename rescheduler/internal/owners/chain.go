// Package owners finds the owners of a pod. It follows controller references up to the root, through objects of any kind, and reads only
// their metadata. It compares UIDs, because an owner's name may have been reused.
package owners

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
)

// Chain holds the owners of a pod from its controller up to the root. It is empty for a bare pod.
type Chain []*metav1.PartialObjectMetadata

// Direct returns the pod's controller. The chain must not be empty.
func (c Chain) Direct() *metav1.PartialObjectMetadata { return c[0] }

// Root returns the last owner, which holds the failure history. The chain must not be empty.
func (c Chain) Root() *metav1.PartialObjectMetadata { return c[len(c)-1] }

// WithOwnAnnotations returns the owners whose annotations apply. ReplicaSets are excluded, because a Deployment copies its annotations to
// its ReplicaSets and does not remove them there.
func (c Chain) WithOwnAnnotations() Chain {
	return slices.DeleteFunc(slices.Clone(c), func(o *metav1.PartialObjectMetadata) bool { return o.Kind == "ReplicaSet" && o != c.Root() })
}

// Retries returns the number of retries set by the owner nearest to the pod. An invalid value is treated as absent. In this case, the error
// is returned together with the value of another owner.
func (c Chain) Retries() (retries int, asked bool, problem error) {
	for _, o := range c.WithOwnAnnotations() {
		n, asked, err := memory.Retries(o.GetAnnotations())
		if asked {
			return n, true, problem
		}
		problem = cmp.Or(problem, err)
	}
	return 0, false, problem
}

// ControllerUID returns the UID of the controller, or "" if there is none.
func ControllerUID(o metav1.Object) types.UID {
	if ref := metav1.GetControllerOf(o); ref != nil {
		return ref.UID
	}
	return ""
}

// named lists the API groups of owners whose pods keep their names when they are replaced.
var named = []string{"elastic.pytorch.org", "kubeflow.org"}

// Slot returns the identity that a pod shares with its replacement: its name if it is owned by a StatefulSet, an ElasticJob or a Kubeflow
// job, or the Job and the completion index for an Indexed Job. Otherwise it is empty.
func Slot(pod *corev1.Pod) string {
	ref := metav1.GetControllerOf(pod)
	if ref == nil {
		return ""
	}
	if group, _, _ := strings.Cut(ref.APIVersion, "/"); ref.Kind == "StatefulSet" || slices.Contains(named, group) {
		return pod.Name
	}
	index := cmp.Or(pod.Annotations[batchv1.JobCompletionIndexAnnotation], pod.Labels[batchv1.JobCompletionIndexAnnotation])
	if _, err := strconv.Atoi(index); err != nil {
		return ""
	}
	return cmp.Or(pod.Labels[batchv1.JobNameLabel], ref.Name) + "/" + index
}

// OneTemplate reports whether the chain's root has a single template, which the pod identifies. This is the case if the root is the pod's
// own controller, or a Deployment that owns ReplicaSets.
func (c Chain) OneTemplate(pod *corev1.Pod) bool {
	if pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey] != "" {
		return len(c) == 1 || len(c) == 2
	}
	return pod.Labels[appsv1.ControllerRevisionHashLabelKey] != "" && len(c) == 1
}

// Template identifies a pod's template, if the pod's controller provides this information. It is empty if the template is immutable or
// unknown.
func Template(pod *corev1.Pod) string {
	return cmp.Or(pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey], pod.Labels[appsv1.ControllerRevisionHashLabelKey])
}

// parts lists labels that name the part of the workload to which a pod belongs. Each part has its own template.
var parts = []string{
	"jobset.sigs.k8s.io/replicatedjob-name", "training.kubeflow.org/replica-type", "ray.io/group", "leaderworkerset.sigs.k8s.io/template-revision-hash",
}

// Alike returns a key that is the same for pods of one workload with the same template, as far as their labels show.
func Alike(pod *corev1.Pod) string {
	mark := Template(pod)
	for _, key := range parts {
		mark += "/" + pod.Labels[key]
	}
	return mark
}
