package orchestrator

import (
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
)

func TestFinishedSlots(t *testing.T) {
	cases := map[string]struct {
		change func(*batchv1.Job)
		want   []string
	}{
		"of a Job that runs":       {func(*batchv1.Job) {}, []string{"js-w-0-1"}},
		"of an earlier epoch":      {func(j *batchv1.Job) { j.Annotations[epoch.Annotation] = "1" }, nil},
		"of an earlier attempt":    {func(j *batchv1.Job) { j.Labels[v1alpha2.RestartsKey] = "0" }, nil},
		"of a Job that is deleted": {func(j *batchv1.Job) { j.DeletionTimestamp = ptr.To(metav1.NewTime(time.Unix(1, 0))) }, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			job := batchv1.Job{
				ObjectMeta: metav1.ObjectMeta{
					Labels: map[string]string{
						v1alpha2.ReplicatedJobNameKey: "w", v1alpha2.JobIndexKey: "0", v1alpha2.RestartsKey: "1",
					},
					Annotations: map[string]string{epoch.Annotation: "2"},
				},
				Status: batchv1.JobStatus{CompletedIndexes: "1"},
			}
			tc.change(&job)
			js := jobSet()
			js.Annotations[epoch.Annotation] = `{"epoch":2,"base":0,"recreate":2}`
			js.Status.Restarts = 1
			var got []string
			for _, current := range policy.CurrentJobs(js, []batchv1.Job{job}, epochOf(js)) {
				got = append(got, inplace.FinishedSlots("js", current)...)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("%v, want %v", got, tc.want)
			}
		})
	}
}

// With the feature gate ElasticJobSet, the other Jobs were enlarged after one Job had completed. No worker joins for
// the slots that the completed Job never had.
func TestGroupFormsBesideASmallerCompleteJob(t *testing.T) {
	g := newRig(t, func(js *v1alpha2.JobSet) {
		entry := &js.Spec.ReplicatedJobs[0]
		entry.Replicas, entry.Template.Spec.Parallelism, entry.Template.Spec.Completions = 2, ptr.To[int32](3), ptr.To[int32](3)
	})
	size := func(job *batchv1.Job, index string, n int32) {
		job.Labels[v1alpha2.ReplicatedJobNameKey], job.Labels[v1alpha2.JobIndexKey] = "w", index
		job.Spec.Parallelism, job.Spec.Completions = &n, &n
	}
	g.changeJob(func(job *batchv1.Job) {
		size(job, "0", 2)
		job.Status.CompletedIndexes = "0,1"
		job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	})
	g.createJob(func(job *batchv1.Job) {
		job.Name = "js-w-1"
		size(job, "1", 3)
	})
	g.reconcile()
	for pod := range 3 {
		g.joinSlot(slotName(1, pod), 1, 1)
	}
	g.reconcile()
	g.wantPhase(coordination.Running, 1, 0)
	if sum := g.group(); sum.Stages[0].Pods != 3 || sum.Done != 3 {
		t.Errorf("%+v", sum)
	}
}
