package owners

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
)

// Chain is from the pod's own controller up to the root. It is empty for a pod without an owner.
type Chain []*metav1.PartialObjectMetadata

// Direct is the pod's own controller, nil if there is none.
func (c Chain) Direct() *metav1.PartialObjectMetadata {
	if len(c) == 0 {
		return nil
	}
	return c[0]
}

// Root is the last of the chain: the object that remembers. nil if there is none.
func (c Chain) Root() *metav1.PartialObjectMetadata {
	if len(c) == 0 {
		return nil
	}
	return c[len(c)-1]
}

// Speaking are the owners whose annotations are their own: a Deployment writes its own on its ReplicaSets, and leaves there what is
// removed from it.
func (c Chain) Speaking() Chain {
	var speaking Chain
	for i, o := range c {
		if i == len(c)-1 || o.Kind != "ReplicaSet" {
			speaking = append(speaking, o)
		}
	}
	return speaking
}

// Retries are those of the owner nearest to the pod that says any. A value that cannot be read says none; its error is returned
// with what the others say.
func (c Chain) Retries() (retries int, asked bool, problem error) {
	for _, o := range c.Speaking() {
		n, asked, err := memory.Retries(o.GetAnnotations())
		if asked {
			return n, true, problem
		}
		if err != nil && problem == nil {
			problem = err
		}
	}
	return 0, false, problem
}

// ControllerUID of a pod; empty if it has none.
func ControllerUID(o metav1.Object) types.UID {
	if ref := metav1.GetControllerOf(o); ref != nil {
		return ref.UID
	}
	return ""
}

const (
	completionIndex = "batch.kubernetes.io/job-completion-index"
	jobName         = "batch.kubernetes.io/job-name"
)

// named are groups of kinds whose pods have the name of the one that they replace.
var named = []string{"elastic.pytorch.org", "kubeflow.org"}

func keepsName(ref *metav1.OwnerReference) bool {
	group, _, _ := strings.Cut(ref.APIVersion, "/")
	return ref.Kind == "StatefulSet" || slices.Contains(named, group)
}

// Slot is the identity that a pod shares with its replacement: its name, if a StatefulSet, an ElasticJob or a job of Kubeflow owns it; the Job
// and index of an indexed Job's. Empty: it has none.
func Slot(pod *corev1.Pod) string {
	ref := metav1.GetControllerOf(pod)
	if ref == nil {
		return ""
	}
	if keepsName(ref) {
		return pod.Name
	}
	index := pod.Annotations[completionIndex]
	if index == "" {
		index = pod.Labels[completionIndex]
	}
	if _, err := strconv.Atoi(index); err != nil {
		return ""
	}
	name := pod.Labels[jobName]
	if name == "" {
		name = ref.Name
	}
	return name + "/" + index
}

// OneTemplate reports whether the root of the chain has one template, and the pod says which: a Deployment above ReplicaSets, or the pod's own
// controller.
func (c Chain) OneTemplate(pod *corev1.Pod) bool {
	if pod.Labels[templateHash] != "" {
		return len(c) == 1 || len(c) == 2
	}
	return pod.Labels[revisionHash] != "" && len(c) == 1
}

const (
	templateHash = "pod-template-hash"
	revisionHash = "controller-revision-hash"
)

// Template identifies the template of a pod, where its controller states it. It is empty if the template does not change or is unknown.
func Template(pod *corev1.Pod) string {
	if hash := pod.Labels[templateHash]; hash != "" {
		return hash
	}
	return pod.Labels[revisionHash]
}

// parts are labels by which workloads of several parts name the part that a pod belongs to: each has a template of its own.
var parts = []string{
	"jobset.sigs.k8s.io/replicatedjob-name", "training.kubeflow.org/replica-type", "ray.io/group", "leaderworkerset.sigs.k8s.io/template-revision-hash",
}

// Alike is a mark that pods of one workload share if they are made from one template, as far as they say so.
func Alike(pod *corev1.Pod) string {
	mark := Template(pod)
	for _, key := range parts {
		mark += "/" + pod.Labels[key]
	}
	return mark
}
