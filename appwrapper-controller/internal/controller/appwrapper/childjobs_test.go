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
)

// The pods of one Job may have been deleted while the status of another is out of date.
func TestSucceededPodsByJob(t *testing.T) {
	jobSet := observedComponent{
		ref:  reference{schema.GroupVersionKind{}, types.NamespacedName{Namespace: "n", Name: "js"}},
		meta: &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "js", UID: "uid"}},
	}
	of := func(index, owner string) metav1.ObjectMeta {
		return metav1.ObjectMeta{
			Name: "js-w-" + index + owner, Namespace: "n", Labels: map[string]string{jobSetName: "js", jobSetReplicatedJob: "w", jobSetJobIndex: index},
			OwnerReferences: []metav1.OwnerReference{{UID: types.UID(owner), Controller: new(true)}},
		}
	}
	jobs := fake.NewClientBuilder().WithObjects(
		&batchv1.Job{ObjectMeta: of("0", "uid"), Status: batchv1.JobStatus{Succeeded: 4}},
		&batchv1.Job{ObjectMeta: of("1", "uid"), Status: batchv1.JobStatus{Succeeded: 1}},
		&batchv1.Job{ObjectMeta: of("2", "other"), Status: batchv1.JobStatus{Succeeded: 9}},
	).Build()
	var pods []*corev1.Pod
	for i, phase := range []corev1.PodPhase{corev1.PodSucceeded, corev1.PodSucceeded, corev1.PodRunning} {
		pods = append(pods, &corev1.Pod{ObjectMeta: of("1", fmt.Sprint(i)), Status: corev1.PodStatus{Phase: phase}})
	}
	got, err := succeededPods(t.Context(), jobs, jobSet, pods)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[health.ChildJob]int32{{ReplicatedJob: "w", Index: "0"}: 4, {ReplicatedJob: "w", Index: "1"}: 2}, got); diff != "" {
		t.Error(diff)
	}
}
