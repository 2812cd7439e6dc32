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
		"the seed's sidecar, by its flag": {
			pod:  corev1.PodSpec{InitContainers: []corev1.Container{{Args: []string{"--worker-jobset-uid=$(JOBSET_UID)"}}}},
			want: true,
		},
		"the seed's sidecar, by its environment": {
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
		"a program that is named like it": {
			pod: corev1.PodSpec{Containers: []corev1.Container{{Command: []string{"/bin/not-holdfast-exec", "holdfast-executor"}}}},
		},
		"the installer of the supervisor is no agent": {
			pod: corev1.PodSpec{InitContainers: []corev1.Container{{Command: []string{"/holdfast-exec", "install", "/holdfast"}}}},
		},
		"a worker that is told the UID is no agent": {
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
	entry := func(name string, replicas int32, parallelism, completions *int32) v1alpha2.ReplicatedJob {
		return v1alpha2.ReplicatedJob{Name: name, Replicas: replicas, Template: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{
			Parallelism: parallelism, Completions: completions,
		}}}
	}
	js := &v1alpha2.JobSet{
		ObjectMeta: metav1.ObjectMeta{Name: "js"},
		Spec: v1alpha2.JobSetSpec{ReplicatedJobs: []v1alpha2.ReplicatedJob{
			entry("driver", 1, nil, nil),
			entry("workers", 5, ptr.To(int32(8)), ptr.To(int32(8))),
			entry("few", 2, ptr.To(int32(8)), ptr.To(int32(3))),
			entry("one", 1, nil, nil),
			entry("none", 0, nil, nil),
		}},
	}
	// The Jobs of an entry keep the size they were created with.
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

func TestFinishedSlots(t *testing.T) {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{
		v1alpha2.ReplicatedJobNameKey: "w", v1alpha2.JobIndexKey: "3",
	}}}
	cases := map[string]struct {
		indexes string
		want    []string
	}{
		"none":                   {"", nil},
		"single ones and ranges": {"0,2-4", []string{"js-w-3-0", "js-w-3-2", "js-w-3-3", "js-w-3-4"}},
		"garbage is left out":    {"x,1,3-y,-2,5-99999999", []string{"js-w-3-1"}},
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

func TestHasIndex(t *testing.T) {
	for index, want := range []bool{true, false, true, true, true, false} {
		if got := HasIndex("0,2-4,x,7-", index); got != want {
			t.Errorf("%d: %v", index, got)
		}
	}
	if HasIndex("", 0) {
		t.Error("nothing holds 0")
	}
}
