package wrappers

import (
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
)

// Job builds a child Job with the fields that package policy reads.
type Job struct{ batchv1.Job }

// MakeJob returns an unfinished Job with one pod, for the first attempt of the given replicatedJob.
func MakeJob(name, entry string) *Job {
	return &Job{batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Namespace:   "default",
			Labels:      map[string]string{v1alpha2.ReplicatedJobNameKey: entry, v1alpha2.RestartsKey: "0"},
			Annotations: map[string]string{},
		},
		Spec: batchv1.JobSpec{Parallelism: ptr.To[int32](1), Completions: ptr.To[int32](1)},
	}}
}

// Obj returns the Job.
func (w *Job) Obj() *batchv1.Job { return &w.Job }

// Label sets a label; an empty value removes it.
func (w *Job) Label(key, value string) *Job {
	w.Labels[key] = value
	if value == "" {
		delete(w.Labels, key)
	}
	return w
}

// Attempt sets the attempt in which the Job was created.
func (w *Job) Attempt(n int) *Job { return w.Label(v1alpha2.RestartsKey, strconv.Itoa(n)) }

// Epoch sets the epoch in which the Job was created.
func (w *Job) Epoch(n int32) *Job {
	w.Annotations[epoch.Annotation] = epoch.FormatNumber(n)
	return w
}

// Size sets parallelism and completions. If completions is 0, the field is left unset.
func (w *Job) Size(parallelism, completions int32) *Job {
	w.Spec.Parallelism, w.Spec.Completions = &parallelism, &completions
	if completions == 0 {
		w.Spec.Completions = nil
	}
	return w
}

// Suspended sets spec.suspend.
func (w *Job) Suspended() *Job {
	w.Spec.Suspend = ptr.To(true)
	return w
}

// Pods sets how many pods are active (pending or running), how many of these are ready, and how many have succeeded.
func (w *Job) Pods(active, ready, succeeded int32) *Job {
	w.Status.Active, w.Status.Ready, w.Status.Succeeded = active, &ready, succeeded
	return w
}

// Index sets the index of the Job in its replicatedJob.
func (w *Job) Index(n int) *Job { return w.Label(v1alpha2.JobIndexKey, strconv.Itoa(n)) }

// Alone sets how often the Job had been restarted individually when it was created.
func (w *Job) Alone(n int) *Job { return w.Label(v1alpha2.JobRestartsKey, strconv.Itoa(n)) }

// Failing sets the condition of a Job that will fail as soon as its pods are gone.
func (w *Job) Failing(second int, reason, message string) *Job {
	return w.finish(batchv1.JobCondition{Type: batchv1.JobFailureTarget, Reason: reason, Message: message, LastTransitionTime: at(second)})
}

// Failed makes the Job fail at the given second after a fixed time.
func (w *Job) Failed(second int, reason, message string) *Job {
	return w.finish(batchv1.JobCondition{Type: batchv1.JobFailed, Reason: reason, Message: message,
		LastTransitionTime: at(second)})
}

// Deleted marks the Job as deleted at the given second after the same fixed time.
func (w *Job) Deleted(second int) *Job {
	w.DeletionTimestamp = ptr.To(at(second))
	return w
}

func at(second int) metav1.Time {
	return metav1.NewTime(time.Date(2026, 1, 1, 0, 0, second, 0, time.UTC))
}

// Succeeded makes the Job complete.
func (w *Job) Succeeded() *Job { return w.finish(batchv1.JobCondition{Type: batchv1.JobComplete}) }

func (w *Job) finish(c batchv1.JobCondition) *Job {
	c.Status = corev1.ConditionTrue
	w.Status.Conditions = append(w.Status.Conditions, c)
	return w
}
