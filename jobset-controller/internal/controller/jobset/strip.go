package jobset

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The functions here keep only what this program reads of an object, because thousands of objects stay in memory. They get each
// object before it is in the cache, so they may change it.

// stripAny removes managed fields, and the last applied configuration of kubectl, from JobSets and the metadata of nodes.
func stripAny(object any) (any, error) {
	if meta, ok := object.(metav1.Object); ok {
		meta.SetManagedFields(nil)
		delete(meta.GetAnnotations(), corev1.LastAppliedConfigAnnotation)
	}
	return object, nil
}

// stripJob removes the pod spec except for the fields that a queue may change while the Job is suspended, because a Job is compared
// by them when it is resumed.
func stripJob(object any) (any, error) {
	job, ok := object.(*batchv1.Job)
	if !ok {
		return object, nil
	}
	stripMeta(&job.ObjectMeta)
	pod := job.Spec.Template.Spec
	job.Spec.Template.Spec = corev1.PodSpec{
		NodeSelector: pod.NodeSelector, Tolerations: pod.Tolerations, SchedulingGates: pod.SchedulingGates,
	}
	job.Spec.PodFailurePolicy, job.Spec.SuccessPolicy = nil, nil
	job.Status.UncountedTerminatedPods = nil
	return job, nil
}

// stripService keeps the name and the owner.
func stripService(object any) (any, error) {
	if service, ok := object.(*corev1.Service); ok {
		stripMeta(&service.ObjectMeta)
		service.Spec, service.Status = corev1.ServiceSpec{}, corev1.ServiceStatus{}
	}
	return object, nil
}

// stripPod keeps what exclusive placement reads: the owner of the pod, its node, and where it may run.
func stripPod(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	stripMeta(&pod.ObjectMeta)
	pod.Spec = corev1.PodSpec{
		NodeName: pod.Spec.NodeName, NodeSelector: pod.Spec.NodeSelector, SchedulingGates: pod.Spec.SchedulingGates,
	}
	pod.Status = corev1.PodStatus{Phase: pod.Status.Phase, Conditions: unscheduled(pod.Status.Conditions)}
	return pod, nil
}

// unscheduled keeps why a pod has no node.
func unscheduled(conditions []corev1.PodCondition) []corev1.PodCondition {
	for _, c := range conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return []corev1.PodCondition{c}
		}
	}
	return nil
}

func stripMeta(meta *metav1.ObjectMeta) {
	meta.ManagedFields = nil
	delete(meta.Annotations, corev1.LastAppliedConfigAnnotation)
}
