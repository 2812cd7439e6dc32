package plan

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/policy"
)

// WorkerPod is the pod of a worker. resumes is how often the job was resumed.
func WorkerPod(job *v1alpha1.ElasticJob, index int, resumes int32) *corev1.Pod {
	template := job.Spec.ReplicaSpecs.Worker.Template.PodTemplateSpec.DeepCopy()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: WorkerName(job.Name, index), Namespace: job.Namespace, Labels: merge(template.Labels, WorkerLabels(job.Name, index)),
			Annotations: template.Annotations, Finalizers: template.Finalizers, OwnerReferences: owner(job),
		},
		Spec: template.Spec,
	}
	pod.Spec.RestartPolicy = restartPolicy(job)
	runID := RunID(job, resumes)
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		c.Env = setAbsent(c.Env, environment(job, index, runID, c))
	}
	if job.Annotations[v1alpha1.InjectArgumentsKey] == "true" && len(pod.Spec.Containers) > 0 {
		c := &pod.Spec.Containers[0] // never a sidecar
		c.Args = append(arguments(job, runID), c.Args...)
	}
	return pod
}

// WorkerService lets the other workers find a worker by the name of its pod, before it is ready too: nobody becomes ready before all have
// found each other.
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

// restartPolicy of the pods: with ExitCode the operator replaces what fails.
func restartPolicy(job *v1alpha1.ElasticJob) corev1.RestartPolicy {
	switch policy.Read(job).Restart {
	case v1alpha1.RestartAlways:
		return corev1.RestartPolicyAlways
	case v1alpha1.RestartOnFailure:
		return corev1.RestartPolicyOnFailure
	}
	return corev1.RestartPolicyNever
}

func merge(a, b map[string]string) map[string]string {
	out := map[string]string{}
	maps.Copy(out, a)
	maps.Copy(out, b)
	return out
}
