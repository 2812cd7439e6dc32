// Package plan builds the objects of an ElasticJob: the pods and services of its workers and of the managed rendezvous server. It is pure.
package plan

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/policy"
	"github.com/holdfast-project/holdfast/shared/bootstrap/supervise"
)

// WorkerPod returns the pod of a worker. resumes is how often the job was resumed.
func WorkerPod(job *v1alpha1.ElasticJob, index int, resumes int32) *corev1.Pod {
	template := job.Spec.ReplicaSpecs.Worker.Template.PodTemplateSpec.DeepCopy()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: WorkerName(job.Name, index), Namespace: job.Namespace, Labels: labels.Merge(template.Labels, WorkerLabels(job.Name, index)),
			Annotations: template.Annotations, Finalizers: template.Finalizers, OwnerReferences: owner(job),
		},
		Spec: template.Spec,
	}
	pod.Spec.RestartPolicy = restartPolicy(job)
	runID := RunID(job, resumes)
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		c.Env = supervise.WithEnvironment(c.Env, environment(job, index, runID, c))
	}
	if job.Annotations[v1alpha1.InjectArgumentsKey] == "true" && len(pod.Spec.Containers) > 0 {
		c := &pod.Spec.Containers[0] // the others are sidecars
		c.Args = append(arguments(job, runID), c.Args...)
	}
	return pod
}

// WorkerService returns the service that resolves the name of a worker. It includes workers that are not ready, because workers become ready
// only after they have connected to each other.
func WorkerService(job *v1alpha1.ElasticJob, index int) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Name: WorkerName(job.Name, index), Namespace: job.Namespace, Labels: WorkerLabels(job.Name, index), OwnerReferences: owner(job),
		},
		Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone, PublishNotReadyAddresses: true, Selector: WorkerLabels(job.Name, index),
		},
	}
}

// restartPolicy returns the restart policy of the pods. With ExitCode the operator replaces failed pods, so the kubelet must not restart
// them.
func restartPolicy(job *v1alpha1.ElasticJob) corev1.RestartPolicy {
	switch policy.Read(job).Restart {
	case v1alpha1.RestartAlways:
		return corev1.RestartPolicyAlways
	case v1alpha1.RestartOnFailure:
		return corev1.RestartPolicyOnFailure
	}
	return corev1.RestartPolicyNever
}
