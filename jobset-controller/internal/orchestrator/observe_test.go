package orchestrator

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

func TestJobsThatAcceptPods(t *testing.T) {
	condition := func(kind batchv1.JobConditionType, status corev1.ConditionStatus) func(*batchv1.Job) {
		return func(j *batchv1.Job) {
			j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{Type: kind, Status: status})
		}
	}
	cases := map[string]struct {
		change func(*batchv1.Job)
		index  int
		want   bool
	}{
		"a running Job":                        {func(*batchv1.Job) {}, 3, true},
		"however often its pods have failed":   {func(j *batchv1.Job) { j.Status.Failed = 1000 }, 3, true},
		"an index beyond its last":             {func(*batchv1.Job) {}, 4, false},
		"one that is being deleted":            {func(j *batchv1.Job) { j.DeletionTimestamp = &metav1.Time{Time: metav1.Now().Time} }, 0, false},
		"one that is suspended":                {func(j *batchv1.Job) { j.Spec.Suspend = ptr.To(true) }, 0, false},
		"one that was resumed":                 {condition(batchv1.JobSuspended, corev1.ConditionFalse), 0, true},
		"one that is complete":                 {condition(batchv1.JobComplete, corev1.ConditionTrue), 0, false},
		"one that has failed":                  {condition(batchv1.JobFailed, corev1.ConditionTrue), 0, false},
		"one that is about to fail":            {condition(batchv1.JobFailureTarget, corev1.ConditionTrue), 0, false},
		"one whose success criteria are met":   {condition(batchv1.JobSuccessCriteriaMet, corev1.ConditionTrue), 0, false},
		"one of another controller":            {func(j *batchv1.Job) { j.Spec.ManagedBy = ptr.To("kueue.x-k8s.io/multikueue") }, 0, false},
		"one of the Job controller, by name":   {func(j *batchv1.Job) { j.Spec.ManagedBy = ptr.To(batchv1.JobControllerName) }, 0, true},
		"one without indexes":                  {func(j *batchv1.Job) { j.Spec.CompletionMode = nil }, 0, false},
		"one with a limit for each index":      {func(j *batchv1.Job) { j.Spec.BackoffLimitPerIndex = ptr.To[int32](1) }, 0, false},
		"one that is about to create its pods": {func(j *batchv1.Job) { j.Status.Active = 0 }, 3, false},
		"one that has created some of them":    {func(j *batchv1.Job) { j.Status.Active = 3 }, 3, false},
		"one that has counted the loss":        {func(j *batchv1.Job) { j.Status.Active, j.Status.Failed = 3, 1 }, 3, true},
		"one that is counting the loss": {func(j *batchv1.Job) {
			j.Status.Active, j.Status.UncountedTerminatedPods = 3, &batchv1.UncountedTerminatedPods{Failed: []types.UID{"a"}}
		}, 3, true},
		"one that waits for the pod to terminate": {func(j *batchv1.Job) { j.Status.Active, j.Status.Terminating = 3, ptr.To[int32](1) }, 3, true},
		"one with another finished index":         {func(j *batchv1.Job) { j.Status.Active, j.Status.Succeeded = 3, 1 }, 3, true},
		"an index that is completed":              {func(j *batchv1.Job) { j.Status.CompletedIndexes = "0,2-3" }, 3, false},
		"an index beside completed ones":          {func(j *batchv1.Job) { j.Status.CompletedIndexes = "0,2-3" }, 1, true},
		"an index that has failed permanently":    {func(j *batchv1.Job) { j.Status.FailedIndexes = ptr.To("1") }, 1, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			job := &batchv1.Job{
				Spec: batchv1.JobSpec{
					Completions: ptr.To[int32](4), Parallelism: ptr.To[int32](4), CompletionMode: ptr.To(batchv1.IndexedCompletion),
				},
				Status: batchv1.JobStatus{Active: 4},
			}
			c.change(job)
			plain := jobOf("js", job, true)
			if got := plain.Accepts(c.index); got != c.want {
				t.Errorf("got %t, want %t", got, c.want)
			}
		})
	}
}
