package jobset

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
)

// A change made by a queue must be detected in a stripped Job from the cache just as in a full one.
func TestStrippedJobIsComparedLikeAFullOne(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*corev1.PodTemplateSpec)
		differs bool
	}{
		"nothing":       {func(*corev1.PodTemplateSpec) {}, false},
		"no selector":   {func(p *corev1.PodTemplateSpec) { p.Spec.NodeSelector = nil }, true},
		"no toleration": {func(p *corev1.PodTemplateSpec) { p.Spec.Tolerations = nil }, true},
		"a selector":    {func(p *corev1.PodTemplateSpec) { p.Spec.NodeSelector = map[string]string{"a": "b"} }, true},
		"a toleration":  {func(p *corev1.PodTemplateSpec) { p.Spec.Tolerations = []corev1.Toleration{{Key: "a"}} }, true},
		"a gate":        {func(p *corev1.PodTemplateSpec) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "a"}} }, true},
		"a label":       {func(p *corev1.PodTemplateSpec) { p.Labels = map[string]string{"a": "b"} }, true},
		"an annotation": {func(p *corev1.PodTemplateSpec) { p.Annotations = map[string]string{"a": "b"} }, true},
	} {
		t.Run(name, func(t *testing.T) {
			made := func() *v1alpha2.JobSet {
				return MakeJobSet("a").Entry("w", 1, func(e *v1alpha2.ReplicatedJob) {
					pod := &e.Template.Spec.Template.Spec
					pod.NodeSelector, pod.Tolerations = map[string]string{"pool": "1"}, []corev1.Toleration{{Key: "spot"}}
				}).Obj()
			}
			kept := stripJob(plan.NewBuilder(made(), epoch.First()).Job(0, 0))
			asked := made()
			c.change(&asked.Spec.ReplicatedJobs[0].Template.Spec.Template)
			if _, differs := plan.Resume(kept, plan.NewBuilder(asked, epoch.First()).Job(0, 0)); differs != c.differs {
				t.Errorf("differs: %v", differs)
			}
		})
	}
}

func TestStripPod(t *testing.T) {
	meta := metav1.ObjectMeta{Name: "a", Labels: map[string]string{"l": "1"}, Annotations: map[string]string{"a": "1"}}
	pod := &corev1.Pod{
		ObjectMeta: *meta.DeepCopy(),
		Spec: corev1.PodSpec{
			NodeName: "n", NodeSelector: map[string]string{"rack": "r"}, SchedulingGates: []corev1.PodSchedulingGate{{Name: "g"}},
			Containers: []corev1.Container{{Name: "c"}}, Volumes: []corev1.Volume{{Name: "v"}},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodPending, PodIP: "1.2.3.4",
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady}, {Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "no node"}},
		},
	}
	pod.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m"}}
	pod.Annotations[corev1.LastAppliedConfigAnnotation] = "{}"
	want := &corev1.Pod{
		ObjectMeta: meta,
		Spec:       corev1.PodSpec{NodeName: "n", NodeSelector: pod.Spec.NodeSelector, SchedulingGates: pod.Spec.SchedulingGates},
		Status:     corev1.PodStatus{Phase: corev1.PodPending},
	}
	if diff := cmp.Diff(want, stripPod(pod)); diff != "" {
		t.Error(diff)
	}
}
