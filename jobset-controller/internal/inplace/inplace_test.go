package inplace

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination"
)

func TestHasAgent(t *testing.T) {
	cases := map[string]struct {
		pod  corev1.PodSpec
		want bool
	}{
		"a sidecar, by its flag": {
			pod:  corev1.PodSpec{InitContainers: []corev1.Container{{Args: []string{"--worker-jobset-uid=$(JOBSET_UID)"}}}},
			want: true,
		},
		"a sidecar, by its environment": {
			pod:  corev1.PodSpec{InitContainers: []corev1.Container{{Env: []corev1.EnvVar{{Name: "JOBSET_UID"}}}}},
			want: true,
		},
		"the supervisor as entry point": {
			pod:  corev1.PodSpec{Containers: []corev1.Container{{Command: []string{"/holdfast/holdfast-exec", "--", "python"}}}},
			want: true,
		},
		"the supervisor behind an init program": {
			pod:  corev1.PodSpec{Containers: []corev1.Container{{Command: []string{"tini", "--"}, Args: []string{"holdfast-exec", "--", "python"}}}},
			want: true,
		},
		"the supervisor in the second container": {
			pod:  corev1.PodSpec{Containers: []corev1.Container{{}, {Command: []string{"holdfast-exec"}}}},
			want: true,
		},
		"a program with a similar name": {
			pod: corev1.PodSpec{Containers: []corev1.Container{{Command: []string{"/bin/not-holdfast-exec", "holdfast-executor"}}}},
		},
		"the installer of the supervisor is not an agent": {
			pod: corev1.PodSpec{InitContainers: []corev1.Container{{Command: []string{"/holdfast-exec", "install", "/holdfast"}}}},
		},
		"a worker that gets the UID is not an agent": {
			pod: corev1.PodSpec{Containers: []corev1.Container{{Env: []corev1.EnvVar{{Name: "JOBSET_UID"}}}}},
		},
		"a plain pod": {pod: corev1.PodSpec{Containers: []corev1.Container{{Command: []string{"python"}}}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := HasAgent(&tc.pod); got != tc.want {
				t.Errorf("HasAgent = %v, want %v", got, tc.want)
			}
		})
	}
}

func TestStages(t *testing.T) {
	rjob := func(name string, replicas int32, parallelism, completions *int32) v1alpha2.ReplicatedJob {
		return v1alpha2.ReplicatedJob{Name: name, Replicas: replicas, Template: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{
			Parallelism: parallelism, Completions: completions,
		}}}
	}
	js := &v1alpha2.JobSet{
		ObjectMeta: metav1.ObjectMeta{Name: "js"},
		Spec: v1alpha2.JobSetSpec{ReplicatedJobs: []v1alpha2.ReplicatedJob{
			rjob("driver", 1, nil, nil),
			rjob("workers", 5, ptr.To(int32(8)), ptr.To(int32(8))),
			rjob("few", 2, ptr.To(int32(8)), ptr.To(int32(3))),
			rjob("one", 1, nil, nil),
			rjob("none", 0, nil, nil),
		}},
	}
	// A change to the replicatedJob does not resize its existing Jobs.
	older := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{v1alpha2.ReplicatedJobNameKey: "workers"}},
		Spec:       batchv1.JobSpec{Parallelism: ptr.To[int32](6), Completions: ptr.To[int32](6)},
	}
	want := []coordination.Stage{
		{Prefix: "js-workers", Jobs: 5, Pods: 6, Release: "needed"},
		{Prefix: "js-few", Jobs: 2, Pods: 3, Release: "needed"},
		{Prefix: "js-one", Jobs: 1, Pods: 1, Release: "needed"},
	}
	if diff := cmp.Diff(want, Stages(js, []*batchv1.Job{older}, []bool{false, true, true, true, true})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// sized returns a Job of a replicatedJob "w".
func sized(index string, pods int32, over batchv1.JobConditionType) *batchv1.Job {
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "js-w-" + index, Labels: map[string]string{
			v1alpha2.ReplicatedJobNameKey: "w", v1alpha2.JobIndexKey: index,
		}},
		Spec: batchv1.JobSpec{Parallelism: &pods, Completions: &pods},
	}
	if over != "" {
		job.Status.Conditions = []batchv1.JobCondition{{Type: over, Status: corev1.ConditionTrue}}
	}
	return job
}

// A cache lists Jobs in a different order each time. If the size of a group depended on the order, the group would be
// restarted each time.
func TestSizeOfAReplicatedJobWhoseJobsDiffer(t *testing.T) {
	js := &v1alpha2.JobSet{
		ObjectMeta: metav1.ObjectMeta{Name: "js"},
		Spec:       v1alpha2.JobSetSpec{ReplicatedJobs: []v1alpha2.ReplicatedJob{{Name: "w", Replicas: 3}}},
	}
	for name, c := range map[string]struct {
		jobs []*batchv1.Job
		want int64
	}{
		"the first Job determines it":                          {[]*batchv1.Job{sized("0", 4, ""), sized("1", 6, ""), sized("10", 8, "")}, 4},
		"by number, not by name":                               {[]*batchv1.Job{sized("10", 4, ""), sized("9", 6, "")}, 6},
		"a completed Job does not":                             {[]*batchv1.Job{sized("0", 4, batchv1.JobComplete), sized("1", 6, ""), sized("2", 4, batchv1.JobComplete)}, 6},
		"nor does a failed one":                                {[]*batchv1.Job{sized("0", 4, batchv1.JobFailed), sized("1", 6, "")}, 6},
		"unless all Jobs have finished":                        {[]*batchv1.Job{sized("0", 4, batchv1.JobComplete), sized("1", 6, batchv1.JobComplete)}, 4},
		"a Job with an unreadable index":                       {[]*batchv1.Job{sized("x", 4, ""), sized("1", 6, "")}, 6},
		"two Jobs with the same index, which should not occur": {[]*batchv1.Job{sized("1", 6, ""), sized("1", 6, "")}, 6},
	} {
		t.Run(name, func(t *testing.T) {
			for range len(c.jobs) {
				c.jobs = append(c.jobs[1:], c.jobs[0])
				if got := Stages(js, c.jobs, []bool{true})[0].Pods; got != c.want {
					t.Errorf("%d pods, want %d", got, c.want)
				}
			}
		})
	}
}

func TestSlotsBeyond(t *testing.T) {
	stages := []coordination.Stage{{Prefix: "js-v", Jobs: 9, Pods: 9}, {Prefix: "js-w", Jobs: 2, Pods: 4}}
	for name, c := range map[string]struct {
		job  *batchv1.Job
		want []string
	}{
		"of a running Job":                  {sized("1", 2, ""), nil},
		"of a failed Job":                   {sized("1", 2, batchv1.JobFailed), nil},
		"of a completed Job":                {sized("1", 2, batchv1.JobComplete), []string{"js-w-1-2", "js-w-1-3"}},
		"of a Job as large as the others":   {sized("1", 4, batchv1.JobComplete), nil},
		"of a larger Job":                   {sized("1", 6, batchv1.JobComplete), nil},
		"of a Job that is no longer needed": {sized("2", 2, batchv1.JobComplete), nil},
		"of a Job with an unreadable index": {sized("x", 2, batchv1.JobComplete), nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, SlotsBeyond("js", c.job, stages)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if got := SlotsBeyond("other", sized("1", 2, batchv1.JobComplete), stages); got != nil {
		t.Errorf("of another JobSet: %v", got)
	}
}

func TestFinishedSlots(t *testing.T) {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{
		v1alpha2.ReplicatedJobNameKey: "w", v1alpha2.JobIndexKey: "3",
	}}}
	cases := map[string]struct {
		indexes string
		want    []string
	}{
		"none":                         {"", nil},
		"single ones and ranges":       {"0,2-4", []string{"js-w-3-0", "js-w-3-2", "js-w-3-3", "js-w-3-4"}},
		"unreadable parts are skipped": {"x,1,3-y,-2,5-99999999", []string{"js-w-3-1"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			job.Status.CompletedIndexes = tc.indexes
			if diff := cmp.Diff(tc.want, FinishedSlots("js", job)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestIndexes(t *testing.T) {
	for index, want := range []bool{true, false, true, true, true, false} {
		if got := Indexes("0,2-4,x,7-").Has(index); got != want {
			t.Errorf("%d: %v", index, got)
		}
	}
	if Indexes("").Has(0) {
		t.Error("an empty list contains 0")
	}
}
