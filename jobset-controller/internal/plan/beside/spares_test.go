package beside

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
)

// Other controllers do not create spares. If the request were not refused, users would rely on spares that do not
// exist.
func TestGroupsOfOtherControllersHaveNoSpares(t *testing.T) {
	const path = "metadata.annotations[holdfast.dev/spares]"
	onTemplate := func(js *v1alpha2.JobSet) {
		js.Spec.ReplicatedJobs[0].Template.Annotations = map[string]string{v1alpha2.SparesKey: "1"}
	}
	for name, c := range map[string]struct {
		js   *v1alpha2.JobSet
		want string
	}{
		"on a JobSet":       {asking().Annotation(v1alpha2.SparesKey, "1").Obj(), "only Holdfast's own JobSet controller creates spares"},
		"on a Job template": {asking().Change(onTemplate).Obj(), "only Holdfast's own JobSet controller creates spares"},
		"not a number":      {asking().Annotation(v1alpha2.SparesKey, "two").Obj(), path + ": Invalid value"},
		"none":              {asking().Annotation(v1alpha2.SparesKey, "0").Obj(), ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Refusal(c.js); !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
				t.Errorf("%q does not contain %q", got, c.want)
			}
			if Prepare(c.js, nil, created(c.js), settings, me) != (c.want == "") {
				t.Error("the Job is prepared although it is refused, or the other way around")
			}
		})
	}

	job := lone(func(job *batchv1.Job) { job.Annotations[v1alpha2.SparesKey] = "1" })
	if got := Refusal(inplace.OfJob(job)); !strings.Contains(got, path+": Forbidden: only JobSets can have spares") || Alone(job, settings, me) {
		t.Errorf("an Indexed Job is refused because of %q, or prepared", got)
	}
	pod := leaderPod()
	pod.Annotations[v1alpha2.InPlaceTimeoutKey], pod.Annotations[v1alpha2.SparesKey] = "60s", "1"
	refusesSpares(t, "a pod with index 0", pod)

	set := &unstructured.Unstructured{}
	set.SetAnnotations(map[string]string{v1alpha2.InPlaceTimeoutKey: "60s", v1alpha2.SparesKey: "1"})
	pod = leaderPod()
	pod.Labels[WorkerIndexKey], pod.Annotations[lwsSize] = "0", "2"
	pod.Annotations[v1alpha2.InPlaceTimeoutKey] = "60s"
	if !Declare(pod, set) {
		t.Fatal("the LeaderWorkerSet does not request in-place restarts")
	}
	refusesSpares(t, "a LeaderWorkerSet", pod)
}

func leaderPod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "train-0", Labels: map[string]string{v1alpha2.PodGroupKey: "train-0", v1alpha2.PodGroupIndexKey: "0"},
			Annotations:     map[string]string{v1alpha2.PodGroupSizeKey: "2"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Training", Name: "train", UID: "1", Controller: ptr.To(true)}},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "worker", Image: "train:1", Command: []string{"train"}}}},
	}
}

// refusesSpares checks that a pod with index 0 gets no agent because of its spares, and that the same pod without spares gets one.
func refusesSpares(t *testing.T, what string, pod *corev1.Pod) {
	t.Helper()
	without := pod.DeepCopy()
	delete(without.Annotations, v1alpha2.SparesKey)
	if !Lead(without, "", settings, me) {
		t.Errorf("%s without spares is refused: %s", what, without.Annotations[v1alpha2.RefusedKey])
	}
	if Lead(pod, "", settings, me) || !strings.Contains(pod.Annotations[v1alpha2.RefusedKey], "only JobSets can have spares") {
		t.Errorf("%s is refused because of %q", what, pod.Annotations[v1alpha2.RefusedKey])
	}
}
