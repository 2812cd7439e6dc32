// Package wrappers builds ElasticJobs for tests.
package wrappers

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
)

// ElasticJob builds an ElasticJob.
type ElasticJob struct{ job v1alpha1.ElasticJob }

// MakeElasticJob returns a job with two workers, a minReplicas of 1 and an external rendezvous.
func MakeElasticJob(name string) *ElasticJob {
	return &ElasticJob{v1alpha1.ElasticJob{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.ElasticJobSpec{
			RdzvEndpoint: "etcd-service:2379", MinReplicas: ptr.To(int32(1)), MaxReplicas: ptr.To(int32(5)),
			ReplicaSpecs: v1alpha1.ReplicaSpecs{Worker: v1alpha1.ReplicaSpec{
				Replicas: ptr.To(int32(2)),
				Template: v1alpha1.PodTemplate{PodTemplateSpec: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
					Containers: []corev1.Container{{Name: "torchelasticworker", Image: "torchelastic/examples:0.1.0rc1"}},
				}}},
			}},
		},
	}}
}

// Namespace sets the namespace.
func (e *ElasticJob) Namespace(namespace string) *ElasticJob {
	e.job.Namespace = namespace
	return e
}

// Workers sets minReplicas, replicas and maxReplicas.
func (e *ElasticJob) Workers(minimum, desired, maximum int32) *ElasticJob {
	e.job.Spec.MinReplicas, e.job.Spec.MaxReplicas = ptr.To(minimum), ptr.To(maximum)
	e.job.Spec.ReplicaSpecs.Worker.Replicas = ptr.To(desired)
	return e
}

// Restart sets the restart policy.
func (e *ElasticJob) Restart(policy v1alpha1.RestartPolicy) *ElasticJob {
	e.job.Spec.ReplicaSpecs.Worker.RestartPolicy = policy
	return e
}

// Settle sets settleSeconds.
func (e *ElasticJob) Settle(seconds int32) *ElasticJob {
	return e.Elastic(func(p *v1alpha1.ElasticPolicy) { p.SettleSeconds = ptr.To(seconds) })
}

// Elastic changes the elastic policy.
func (e *ElasticJob) Elastic(change func(*v1alpha1.ElasticPolicy)) *ElasticJob {
	if e.job.Spec.ElasticPolicy == nil {
		e.job.Spec.ElasticPolicy = &v1alpha1.ElasticPolicy{}
	}
	change(e.job.Spec.ElasticPolicy)
	return e
}

// Queue sets the Kueue queue.
func (e *ElasticJob) Queue(name string) *ElasticJob {
	e.job.Labels = map[string]string{v1alpha1.QueueLabel: name}
	return e
}

// With applies any change to the job.
func (e *ElasticJob) With(change func(*v1alpha1.ElasticJob)) *ElasticJob {
	change(&e.job)
	return e
}

// Obj returns a copy of the job.
func (e *ElasticJob) Obj() *v1alpha1.ElasticJob { return e.job.DeepCopy() }
