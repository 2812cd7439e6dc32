package plan

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// placement returns the placement annotations that Jobs inherit from the JobSet. Those of the Job template win.
func placement(js *v1alpha2.JobSet) map[string]string {
	keys := map[string]string{}
	for _, key := range []string{v1alpha2.ExclusiveKey, v1alpha2.NodeSelectorStrategyKey} {
		if value, found := js.Annotations[key]; found {
			keys[key] = value
		}
	}
	return keys
}

// pinToReservedNodes implements the node selector strategy: nodes were labeled for this Job and tainted against all others.
func pinToReservedNodes(job *batchv1.Job) {
	if !selectsReservedNodes(job.Annotations) {
		return
	}
	pod := &job.Spec.Template.Spec
	pod.NodeSelector = merged(pod.NodeSelector, map[string]string{v1alpha2.NamespacedJobKey: job.Namespace + "_" + job.Name})
	pod.Tolerations = append(pod.Tolerations, corev1.Toleration{
		Key:      v1alpha2.NoScheduleTaintKey,
		Operator: corev1.TolerationOpExists,
		Effect:   corev1.TaintEffectNoSchedule,
	})
}

func selectsReservedNodes(annotations map[string]string) bool {
	_, exclusive := annotations[v1alpha2.ExclusiveKey]
	_, byNodeSelector := annotations[v1alpha2.NodeSelectorStrategyKey]
	return exclusive && byNodeSelector
}
