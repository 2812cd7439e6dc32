package appwrapper

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/health"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/policy"
)

// The pods of one Job may have been deleted while the status of another is out of date.
func TestChildJobs(t *testing.T) {
	of := func(name string, owner types.UID) metav1.ObjectMeta {
		return metav1.ObjectMeta{
			Name: name, Namespace: "n", UID: types.UID(name), Labels: map[string]string{jobSetName: "js"},
			OwnerReferences: []metav1.OwnerReference{{UID: owner, Controller: new(true)}},
		}
	}
	spec := batchv1.JobSpec{Parallelism: new(int32(4)), Completions: new(int32(5))}
	r := &Reconciler{Options: Options{Client: fake.NewClientBuilder().WithObjects(
		&batchv1.Job{ObjectMeta: of("a", "uid"), Spec: spec, Status: batchv1.JobStatus{Succeeded: 4}},
		&batchv1.Job{ObjectMeta: of("b", "uid"), Spec: spec, Status: batchv1.JobStatus{Succeeded: 1}},
		&batchv1.Job{ObjectMeta: of("c", "other"), Spec: spec, Status: batchv1.JobStatus{Succeeded: 2}},
	).Build()}}
	s := &scope{facts: policy.Facts{Components: make([]policy.Component, 1)}, components: []observedComponent{{
		ref:  reference{schema.GroupVersionKind{Group: "jobset.x-k8s.io", Kind: "JobSet"}, types.NamespacedName{Namespace: "n", Name: "js"}},
		meta: &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "js", UID: "uid"}},
	}}}
	for i, phase := range []corev1.PodPhase{corev1.PodSucceeded, corev1.PodSucceeded, corev1.PodRunning} {
		s.pods = append(s.pods, &corev1.Pod{ObjectMeta: of(fmt.Sprint("b-", i), "b"), Status: corev1.PodStatus{Phase: phase}})
	}
	if err := r.observeChildJobs(t.Context(), s, false); err != nil {
		t.Fatal(err)
	}
	// a has 4 succeeded pods and needs 1 more, b has 2 and needs 3 more
	if diff := cmp.Diff(health.Report{Active: new(int32(4)), Succeeded: 6}, s.facts.Components[0].Report); diff != "" {
		t.Error(diff)
	}
}

func TestActivePods(t *testing.T) {
	waves := batchv1.JobSpec{Parallelism: new(int32(4)), Completions: new(int32(10))}
	for name, tc := range map[string]struct {
		job             batchv1.Job
		succeeded, want int32
	}{
		"at the start":                    {batchv1.Job{Spec: waves}, 0, 4},
		"after the first wave":            {batchv1.Job{Spec: waves}, 4, 4},
		"in the last wave":                {batchv1.Job{Spec: waves}, 8, 2},
		"all have succeeded":              {batchv1.Job{Spec: waves}, 10, 0},
		"more have succeeded than needed": {batchv1.Job{Spec: waves}, 11, 0},
		"completed by its success policy": {batchv1.Job{Spec: waves, Status: batchv1.JobStatus{CompletionTime: new(metav1.Now())}}, 3, 0},
		"without waves":                   {batchv1.Job{Spec: batchv1.JobSpec{Parallelism: new(int32(2))}}, 1, 1},
	} {
		if got := activePods(&tc.job, tc.succeeded); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}
