// Package wrappers builds JobSets and Jobs for tests: MakeJobSet("a").Workers(3).Obj().
package wrappers

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// JobSet builds a v1alpha2.JobSet.
type JobSet struct{ v1alpha2.JobSet }

// MakeJobSet returns a JobSet without replicatedJobs in namespace "default".
func MakeJobSet(name string) *JobSet {
	return &JobSet{v1alpha2.JobSet{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name + "-uid")}}}
}

// Obj returns the JobSet.
func (w *JobSet) Obj() *v1alpha2.JobSet { return &w.JobSet }

// Namespace sets the namespace and removes the UID, which an API server sets.
func (w *JobSet) Namespace(ns string) *JobSet {
	w.JobSet.Namespace, w.UID = ns, ""
	return w
}

// Annotation sets an annotation.
func (w *JobSet) Annotation(key, value string) *JobSet {
	if w.Annotations == nil {
		w.Annotations = map[string]string{}
	}
	w.Annotations[key] = value
	return w
}

// Workers adds a replicatedJob "workers" with the given number of single-pod Jobs.
func (w *JobSet) Workers(replicas int32) *JobSet { return w.Entry("workers", replicas) }

// Entry adds a replicatedJob with the given number of single-pod Jobs, and applies the given changes to it.
func (w *JobSet) Entry(name string, replicas int32, changes ...func(*v1alpha2.ReplicatedJob)) *JobSet {
	entry := v1alpha2.ReplicatedJob{Name: name, GroupName: "default", Replicas: replicas}
	entry.Template.Spec = batchv1.JobSpec{
		Parallelism: ptr.To[int32](1),
		Completions: ptr.To[int32](1),
		Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "worker", Image: "worker-image"}},
		}},
	}
	for _, change := range changes {
		change(&entry)
	}
	w.Spec.ReplicatedJobs = append(w.Spec.ReplicatedJobs, entry)
	return w
}

// DependsOn makes a replicatedJob wait for another one.
func DependsOn(name string, status v1alpha2.DependsOnStatus) func(*v1alpha2.ReplicatedJob) {
	return func(e *v1alpha2.ReplicatedJob) {
		e.DependsOn = append(e.DependsOn, v1alpha2.DependsOn{Name: name, Status: status})
	}
}

// Suspend sets spec.suspend.
func (w *JobSet) Suspend(to bool) *JobSet {
	w.Spec.Suspend = &to
	return w
}

// MaxRestarts adds a failure policy without rules.
func (w *JobSet) MaxRestarts(n int32) *JobSet {
	w.failurePolicy().MaxRestarts = n
	return w
}

// Strategy sets the restart strategy.
func (w *JobSet) Strategy(s v1alpha2.JobSetRestartStrategy) *JobSet {
	w.failurePolicy().RestartStrategy = s
	return w
}

// Rule adds a rule to the failure policy.
func (w *JobSet) Rule(r v1alpha2.FailurePolicyRule) *JobSet {
	p := w.failurePolicy()
	p.Rules = append(p.Rules, r)
	return w
}

func (w *JobSet) failurePolicy() *v1alpha2.FailurePolicy {
	if w.Spec.FailurePolicy == nil {
		w.Spec.FailurePolicy = &v1alpha2.FailurePolicy{}
	}
	return w.Spec.FailurePolicy
}

// InOrder makes the replicatedJobs start one after another.
func (w *JobSet) InOrder() *JobSet {
	w.Spec.StartupPolicy = &v1alpha2.StartupPolicy{StartupPolicyOrder: v1alpha2.InOrder}
	return w
}

// WaitFor adds a rule to an ordered start.
func (w *JobSet) WaitFor(status v1alpha2.WaitForReplicatedJobsStatus, entries ...string) *JobSet {
	if w.Spec.StartupPolicy == nil {
		w.InOrder()
	}
	w.Spec.StartupPolicy.Rules = append(w.Spec.StartupPolicy.Rules,
		v1alpha2.StartupPolicyRule{TargetReplicatedJobs: entries, WaitForReplicatedJobsStatus: status})
	return w
}

// Success sets the success policy.
func (w *JobSet) Success(operator v1alpha2.Operator, targets ...string) *JobSet {
	w.Spec.SuccessPolicy = &v1alpha2.SuccessPolicy{Operator: operator, TargetReplicatedJobs: targets}
	return w
}

// Restarts sets the restart counts in the status.
func (w *JobSet) Restarts(all, counted int32) *JobSet {
	w.Status.Restarts, w.Status.RestartsCountTowardsMax = all, counted
	return w
}

// Change makes any other change.
func (w *JobSet) Change(change func(*v1alpha2.JobSet)) *JobSet {
	change(&w.JobSet)
	return w
}
