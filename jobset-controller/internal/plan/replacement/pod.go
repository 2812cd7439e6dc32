// Package replacement builds the pod that the leader creates to replace a lost one.
package replacement

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan"
	"github.com/holdfast-project/holdfast/shared/bootstrap/supervise"
)

// indexVariable is the variable that the Job controller sets in each container of a pod.
const indexVariable = "JOB_COMPLETION_INDEX"

// Pod returns the pod that the Job controller would create for a completion index of the Job, except for its name. The
// name is derived from the reason, which identifies the lost pod and the restart. Therefore, two leaders that make the
// same decision use the same name, and only one of them succeeds.
func Pod(job *batchv1.Job, index int, reason ...string) *corev1.Pod {
	template := job.Spec.Template.DeepCopy()
	number := strconv.Itoa(index)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: job.Namespace, Name: name(job, number, reason), Labels: template.Labels, Annotations: template.Annotations,
			Finalizers:      template.Finalizers,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))},
		},
		Spec: template.Spec,
	}
	metav1.SetMetaDataLabel(&pod.ObjectMeta, batchv1.JobCompletionIndexAnnotation, number)
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, batchv1.JobCompletionIndexAnnotation, number)
	pod.Spec.Hostname = job.Name + "-" + number
	if !slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer) { // makes the Job controller count every pod that ends, even a short-lived one
		pod.Finalizers = append(pod.Finalizers, batchv1.JobTrackingFinalizer)
	}
	tellIndex(pod.Spec.InitContainers)
	tellIndex(pod.Spec.Containers)
	return pod
}

// PreferOtherNodes makes a future spare prefer nodes without pods of its JobSet, because the loss of a node must not
// affect both a worker and its spare. Unlike a requirement, a preference lets the pod run if there is no such node, so
// that the pod can take its slot back.
func PreferOtherNodes(pod *corev1.Pod) {
	anti := plan.AntiAffinity(&pod.Spec)
	anti.PreferredDuringSchedulingIgnoredDuringExecution = append(anti.PreferredDuringSchedulingIgnoredDuringExecution, corev1.WeightedPodAffinityTerm{
		Weight: 100, // the maximum weight
		PodAffinityTerm: corev1.PodAffinityTerm{
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{v1alpha2.JobSetUIDKey: pod.Labels[v1alpha2.JobSetUIDKey]}},
			TopologyKey:   corev1.LabelHostname,
		},
	})
}

func tellIndex(containers []corev1.Container) {
	index := []corev1.EnvVar{supervise.FromField(indexVariable, "metadata.labels['"+batchv1.JobCompletionIndexAnnotation+"']")}
	for i := range containers {
		containers[i].Env = supervise.WithEnvironment(containers[i].Env, index)
	}
}

const (
	suffixLength = 5 // as in names that the API server generates
	longestName  = 63
)

// name returns a name in the style of the Job's other pods, with a suffix of letters that do not form words.
func name(job *batchv1.Job, number string, reason []string) string {
	middle := "-" + number + "-"
	prefix := job.Name[:min(len(job.Name), longestName-suffixLength-len(middle))]
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", append([]string{string(job.UID), number}, reason...)))
	return prefix + middle + rand.SafeEncodeString(hex.EncodeToString(sum[:]))[:suffixLength]
}
