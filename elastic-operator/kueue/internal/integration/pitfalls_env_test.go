//go:build envtest

package integration

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/plan"
)

// Pods have environment variables and labels that the template lacks. This does not end the admission. A change to the template does, which
// proves that the test would detect such a problem.
func TestAdditionalPodFieldsDoNotEndTheAdmission(t *testing.T) {
	w := newWorld(t)
	w.offer(func(j *v1alpha1.ElasticJob) {
		j.Spec.ReplicaSpecs.Worker.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "LR", Value: "1"}}
	})
	admitted := w.workload().UID
	w.admit()
	w.eventually(func() string {
		if w.job().Spec.Suspend {
			return "not started"
		}
		return ""
	})
	pod := plan.WorkerPod(w.job(), 0, 0)
	if len(pod.Spec.Containers[0].Env) <= 1 || pod.Labels[v1alpha1.ReplicaIndexLabel] != "0" {
		t.Fatalf("the operator adds nothing to a pod: %+v", pod)
	}
	w.ok(w.Create(t.Context(), pod))
	w.report(func(s *v1alpha1.ElasticJobStatus) { s.State, s.Replicas, s.ReadyReplicas = v1alpha1.StateRunning, 3, 3 })
	w.awaitCondition(kueue.WorkloadPodsReady, metav1.ConditionTrue) // set by a reconcile that has compared the job with its workload
	if w.job().Spec.Suspend || w.workload().UID != admitted {
		t.Error("the admission has ended")
	}

	job := w.job()
	before := job.DeepCopy()
	job.Spec.ReplicaSpecs.Worker.Template.Spec.Containers[0].Env[0].Value = "2"
	w.ok(w.Patch(t.Context(), job, client.MergeFrom(before)))
	w.eventually(func() string {
		if !w.job().Spec.Suspend {
			return "a job with a changed template runs with the admission of the original one"
		}
		return ""
	})
}

// The flavor selects one node pool, and the template another one. Retrying would not help, so the workload reports the conflict.
func TestJobThatConflictsWithItsFlavorFailsToStart(t *testing.T) {
	w := newWorld(t)
	w.offer(func(j *v1alpha1.ElasticJob) {
		j.Spec.ReplicaSpecs.Worker.Template.Spec.NodeSelector = map[string]string{"pool": "on-demand"}
	})
	w.workload()
	w.eventually(func() string {
		if !w.job().Spec.Suspend {
			return "a job without quota is not suspended"
		}
		return ""
	})
	w.admit()
	w.awaitCondition(kueue.WorkloadFinished, metav1.ConditionTrue)
	if c := meta.FindStatusCondition(w.workload().Status.Conditions, kueue.WorkloadFinished); c.Reason != "FailedToStart" {
		t.Errorf("%+v", c)
	}
	if s := w.job().Spec; !s.Suspend || s.GrantedReplicas != nil || fmt.Sprint(s.ReplicaSpecs.Worker.Template.Spec.NodeSelector) != "map[pool:on-demand]" {
		t.Errorf("%+v", s)
	}
}
