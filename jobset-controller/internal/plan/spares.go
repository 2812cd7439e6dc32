package plan

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination"
)

// SparesName returns the name of the Job with the spares of a replicatedJob: "<jobset>-<replicatedJob>-spares".
func SparesName(jobSet, rjob string) string { return jobSet + "-" + rjob + "-" + coordination.Spares }

// Spares builds the Job with the spares of a replicatedJob, or returns nil if it has none. The pods have the template of the workers, and run
// on nodes without other pods of the JobSet.
func (b *Builder) Spares(rjobIndex int) *batchv1.Job {
	n := int32(b.agents.Spares(rjobIndex))
	if n == 0 {
		return nil
	}
	js := b.jobSet
	name, identity := SparesName(js.Name, js.Spec.ReplicatedJobs[rjobIndex].Name), b.identity(rjobIndex, 0)
	for _, key := range []string{v1alpha2.JobIndexKey, v1alpha2.JobGlobalIndexKey, v1alpha2.JobGroupIndexKey} {
		identity[key] = coordination.Spares
	}
	identity[v1alpha2.JobKey] = jobKey(js.Namespace, name)
	job := b.build(rjobIndex, name, identity)
	job.Spec.Parallelism, job.Spec.Completions, job.Spec.SuccessPolicy = ptr.To(n), ptr.To(n), nil
	keepApart(js, &job.Spec.Template.Spec)
	return job
}

// keepApart keeps a spare off the nodes of all other pods of the JobSet, because the loss of a node must not take both.
func keepApart(js *v1alpha2.JobSet, pod *corev1.PodSpec) {
	if pod.Affinity == nil {
		pod.Affinity = &corev1.Affinity{}
	}
	if pod.Affinity.PodAntiAffinity == nil {
		pod.Affinity.PodAntiAffinity = &corev1.PodAntiAffinity{}
	}
	anti := pod.Affinity.PodAntiAffinity
	anti.RequiredDuringSchedulingIgnoredDuringExecution = append(anti.RequiredDuringSchedulingIgnoredDuringExecution, corev1.PodAffinityTerm{
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{v1alpha2.JobSetUIDKey: string(js.UID)}},
		TopologyKey:   corev1.LabelHostname,
	})
}
