package jobset

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The functions here leave of an object what this program reads; thousands of them stay in memory. They see each object before
// it is in the cache, so that they may change it.

// stripAny drops from JobSets, and the metadata of nodes, the records of who wrote what, and the copy of the manifest that kubectl
// leaves.
func stripAny(object any) (any, error) {
	if meta, ok := object.(metav1.Object); ok {
		meta.SetManagedFields(nil)
		delete(meta.GetAnnotations(), corev1.LastAppliedConfigAnnotation)
	}
	return object, nil
}

// stripJob drops what pods are made of. Of the template stays what a queue may change while the Job is suspended, because a
// resumed Job is compared by it.
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

// stripService leaves the name and the owner.
func stripService(object any) (any, error) {
	if service, ok := object.(*corev1.Service); ok {
		stripMeta(&service.ObjectMeta)
		service.Spec, service.Status = corev1.ServiceSpec{}, corev1.ServiceStatus{}
	}
	return object, nil
}

// stripPod leaves what exclusive placement reads: who owns the pod, where it is and where it may go.
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
