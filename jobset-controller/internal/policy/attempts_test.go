package policy

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
)

// says returns a pod whose agent reports an attempt; -1 means none. The pod belongs to the Job with the UID "job".
func says(attempt int, changes ...func(*corev1.Pod)) corev1.Pod {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Annotations:     map[string]string{},
		OwnerReferences: []metav1.OwnerReference{{Kind: "Job", UID: "job", Controller: ptr.To(true)}},
	}}
	if attempt >= 0 {
		pod.Annotations[v1alpha2.InPlaceAttemptKey] = strconv.Itoa(attempt)
	}
	for _, change := range changes {
		change(&pod)
	}
	return pod
}

func phase(p corev1.PodPhase) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Status.Phase = p }
}

func owner(uid types.UID) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.OwnerReferences[0].UID = uid }
}

func restarted(n int32) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: n}}
	}
}

func deleted(pod *corev1.Pod) { pod.DeletionTimestamp = ptr.To(metav1.Now()) }

func TestAttempts(t *testing.T) {
	// outcome is the expected result for a JobSet with one Job of three pods.
	type outcome struct {
		Previous, Current int32 // -1 for none
		Fails, Restarting bool
	}
	cases := map[string]struct {
		pods              []corev1.Pod
		succeeded         int32 // number of the Job's pods that have succeeded
		previous, current int32
		restarts, counted int32
		suspended         bool
		want              outcome
	}{
		"no agent has reported an attempt": {pods: []corev1.Pod{says(-1)}, previous: -1, current: -1, want: outcome{Previous: -1, Current: -1}},
		"the first agents wait for the others": {
			pods: []corev1.Pod{says(0), says(0), says(-1)}, previous: -1, current: -1, want: outcome{Previous: -1, Current: -1}},
		"all report the same attempt": {
			pods: []corev1.Pod{says(0), says(0), says(0)}, previous: -1, current: -1, want: outcome{Previous: -1, Current: 0}},
		"one restarts: the others must follow": {
			pods: []corev1.Pod{says(0), says(1), says(0)}, previous: -1, current: 0, want: outcome{Previous: 0, Current: 0, Restarting: true}},
		"all have followed": {
			pods: []corev1.Pod{says(1), says(1), says(1)}, previous: 0, current: 0, want: outcome{Previous: 0, Current: 1}},
		"a pod that failed is gone": {
			pods: []corev1.Pod{says(2), says(2), says(1, phase(corev1.PodFailed))}, previous: 0, current: 1, want: outcome{Previous: 1, Current: 1, Restarting: true}},
		"its replacement joins": {
			pods: []corev1.Pod{says(2), says(2), says(1, phase(corev1.PodFailed)), says(2)}, previous: 1, current: 1, want: outcome{Previous: 1, Current: 2}},
		"a pod that is deleted is not counted": {
			pods: []corev1.Pod{says(0), says(0), says(0, deleted)}, previous: -1, current: -1, want: outcome{Previous: -1, Current: -1}},
		"a pod that has succeeded is not waited for": {
			pods: []corev1.Pod{says(1), says(1), says(0, phase(corev1.PodSucceeded))}, succeeded: 1, previous: 0, current: 0,
			want: outcome{Previous: 0, Current: 1}},
		"a pod of another owner is ignored, whatever its labels are": {
			pods: []corev1.Pod{says(0), says(0), says(0), says(9, owner("foreign"))}, previous: -1, current: -1, want: outcome{Previous: -1, Current: 0}},
		"attempts never decrease": {
			pods: []corev1.Pod{says(1), says(2), says(1)}, previous: 3, current: 4, want: outcome{Previous: 3, Current: 4, Restarting: true}},
		"more restarts than allowed": {
			pods: []corev1.Pod{says(4), says(3), says(3)}, previous: 2, current: 3, want: outcome{Previous: 3, Current: 3, Fails: true, Restarting: true}},
		"recreations that do not count are subtracted": {
			pods: []corev1.Pod{says(4), says(3), says(3)}, previous: 2, current: 3, restarts: 3, counted: 2, want: outcome{Previous: 3, Current: 3, Restarting: true}},
		"a container that crashes on its own": {
			pods: []corev1.Pod{says(0), says(0), says(-1, restarted(4))}, previous: -1, current: -1, want: outcome{Previous: -1, Current: -1, Fails: true}},
		"a container that has restarted as often as allowed": {
			pods: []corev1.Pod{says(0), says(0), says(-1, restarted(3))}, previous: -1, current: -1, want: outcome{Previous: -1, Current: -1}},
		"a suspended JobSet starts over": {
			previous: 2, current: 3, suspended: true, want: outcome{Previous: -1, Current: -1}},
		"but not before its pods are gone": {
			pods: []corev1.Pod{says(3)}, previous: 2, current: 3, suspended: true, want: outcome{Previous: 2, Current: 3, Restarting: true}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			js := MakeJobSet("js").Entry("w", 1, func(e *v1alpha2.ReplicatedJob) {
				e.Template.Spec.Parallelism, e.Template.Spec.Completions = ptr.To[int32](3), ptr.To[int32](3)
			}).
				MaxRestarts(3).Strategy(v1alpha2.InPlaceRestart).Restarts(c.restarts, c.counted)
			js.Status.PreviousInPlaceRestartAttempt, js.Status.CurrentInPlaceRestartAttempt = known(c.previous), known(c.current)
			job := MakeJob("js-w-0", "w").Attempt(int(c.restarts)).Pods(3, 3, c.succeeded).Obj()
			job.UID = "job"
			jobs := Jobs{Active: []*batchv1.Job{job}}
			a := ReadAttempts(&js.Spec, jobs, c.pods)
			previous, current := a.Next(&js.Status, c.suspended)
			d := Decide(Facts{Spec: &js.Spec, Status: &js.Status, Jobs: jobs, Attempts: &a})
			got := outcome{Previous: ptr.Deref(previous, -1), Current: ptr.Deref(current, -1),
				Fails: d.Outcome == Fail && d.Reason == "ReachedMaxRestarts", Restarting: a.Restarting()}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func known(attempt int32) *int32 {
	if attempt < 0 {
		return nil
	}
	return &attempt
}
