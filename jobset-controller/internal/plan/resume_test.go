package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
)

func toleration(key string) corev1.Toleration {
	return corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, TolerationSeconds: ptr.To[int64](30)}
}

// suspendedJob returns a Job as the Builder built it, with the additions that an API server makes to its pod template.
func suspendedJob(js *JobSet) *batchv1.Job {
	job := build(js, 0, 0)
	job.Spec.Suspend = ptr.To(true)
	job.Spec.Template.Labels["batch.kubernetes.io/controller-uid"] = "abc"
	return job
}

func templateOf(js *JobSet) *corev1.PodTemplateSpec {
	return &js.Spec.ReplicatedJobs[0].Template.Spec.Template
}

func TestResume(t *testing.T) {
	admitted := func(flavor string) *JobSet {
		js := MakeJobSet("js").Workers(1)
		pod := templateOf(js)
		pod.Labels = map[string]string{"flavor": flavor}
		pod.Annotations = map[string]string{"flavor": flavor}
		pod.Spec.NodeSelector = map[string]string{flavor: "true"}
		pod.Spec.Tolerations = []corev1.Toleration{toleration(flavor)}
		pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: flavor}}
		return js
	}
	current := suspendedJob(admitted("spot"))
	got, differs := Resume(current, build(admitted("reserved"), 0, 0))
	if !differs {
		t.Error("the template does not differ")
	}
	pod := got.Spec.Template
	if *got.Spec.Suspend || pod.Labels["flavor"] != "reserved" || pod.Annotations["flavor"] != "reserved" {
		t.Errorf("the values of the JobSet do not take precedence: %+v", pod.ObjectMeta)
	}
	if pod.Labels["batch.kubernetes.io/controller-uid"] != "abc" {
		t.Error("a label of the API server is lost")
	}
	if diff := cmp.Diff(map[string]string{"reserved": "true"}, pod.Spec.NodeSelector); diff != "" {
		t.Errorf("a key of the last admission is left: %s", diff)
	}
	if diff := cmp.Diff([]corev1.Toleration{toleration("reserved")}, pod.Spec.Tolerations); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]corev1.PodSchedulingGate{{Name: "reserved"}}, pod.Spec.SchedulingGates); diff != "" {
		t.Error(diff)
	}
	if !*current.Spec.Suspend || current.Spec.Template.Labels["flavor"] != "spot" {
		t.Error("the Job in the cache was changed")
	}
}

// The upstream controller duplicates tolerations with tolerationSeconds on each cycle, because it compares pointers.
func TestResumeWithoutChangesKeepsTheTemplate(t *testing.T) {
	js := MakeJobSet("js").Workers(1)
	templateOf(js).Spec.Tolerations = []corev1.Toleration{toleration("a"), toleration("b")}
	current := suspendedJob(js)
	got, differs := Resume(current, build(js, 0, 0))
	if differs {
		t.Error("the template differs")
	}
	if diff := cmp.Diff(current.Spec.Template, got.Spec.Template); diff != "" {
		t.Error(diff)
	}
}

func TestResumeSetsTheCurrentGeneration(t *testing.T) {
	js := MakeJobSet("js").Workers(1)
	current := suspendedJob(js)
	got, differs := Resume(current, build(js.Annotation(epoch.Annotation, `{"epoch":2}`), 0, 0))
	if got.Annotations[epoch.Annotation] != "2" || got.Spec.Template.Annotations[epoch.Annotation] != "2" || !differs {
		t.Errorf("epoch %q on the Job, %q on its pods", got.Annotations[epoch.Annotation], got.Spec.Template.Annotations[epoch.Annotation])
	}
}
