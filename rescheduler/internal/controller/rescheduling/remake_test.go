package rescheduling

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/internal/placement"
	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
	"github.com/holdfast-project/holdfast/rescheduler/internal/testing/pods"
)

// alone returns the scope of a bare pod.
func alone(pod *corev1.Pod) *scope {
	return &scope{pod: pod, subject: metadataOf(pod), retries: 3, annotated: true, now: noon}
}

// The process ended between the two writes, and the pod has since become healthy. The pod and its successor must not
// both keep running.
func TestHealthyPodWithSuccessorIsDeleted(t *testing.T) {
	config := settings.Default()
	config.BarePods.Recreate = true
	of := func(uid string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { metav1.SetMetaDataAnnotation(&p.ObjectMeta, SuccessorOf, uid) }
	}
	for name, c := range map[string]struct {
		next *corev1.Pod
		stay bool
	}{
		"successor exists":                {pods.Make("p-r1", noon).On("").Change(of("uid-p")).Obj(), false},
		"successor of another pod exists": {pods.Make("p-r1", noon).Change(of("uid-x")).Obj(), true},
		"unrelated pod with that name":    {pods.Make("p-r1", noon).Obj(), true},
		"no pod with that name":           {pods.Make("q", noon).Obj(), true},
	} {
		t.Run(name, func(t *testing.T) {
			pod := pods.Make("p", noon).Obj()
			w := newWorld(t, config, interceptor.Funcs{}, pod, c.next)
			_, err := w.restore(t.Context(), alone(pod))
			w.ok(err)
			if _, stays := w.pod("p"); stays != c.stay {
				t.Errorf("the pod exists: %t", stays)
			}
			if _, exists := w.pod(c.next.Name); !exists {
				t.Error("the other pod was deleted")
			}
		})
	}
}

func TestPodIsRecreatedOnce(t *testing.T) {
	pod := pods.Make("p", noon).Obj()
	next := successor(pod, nil, settings.Plugin)
	w := newWorld(t, settings.Default(), interceptor.Funcs{}, pod, next)
	if got, err := w.remake(t.Context(), alone(pod)); got != moved || err != nil {
		t.Errorf("%s, %v", got, err)
	}
	if _, stays := w.pod("p"); stays {
		t.Error("the old pod was not deleted")
	}
}

func TestPodWithNameOfSuccessorIsKept(t *testing.T) {
	pod := pods.Make("p", noon).Obj()
	w := newWorld(t, settings.Default(), interceptor.Funcs{}, pod, pods.Make("p-r1", noon).Obj())
	if _, err := w.remake(t.Context(), alone(pod)); err == nil {
		t.Error("no error")
	}
	if _, stays := w.pod("p"); !stays {
		t.Error("the old pod was deleted although there is no new one")
	}
}

func TestMovesOfBarePodAreCounted(t *testing.T) {
	pod := pods.Make("p", noon).Obj()
	pod.Annotations = memory.Memory{Times: 3}.PodAnnotations(noon)
	s := alone(pod)
	s.read()
	if s.memory.Times != 3 {
		t.Errorf("%d moves", s.memory.Times)
	}
}

// Exclusions from an earlier move have expired. The pod may run on those nodes again.
func TestBarePodWithoutNodeIsRecreatedWithoutExclusions(t *testing.T) {
	config := settings.Default()
	config.BarePods.Recreate = true
	first := pods.Make("p", noon).On("a").Obj()
	stuck := successor(first, []string{"a"}, settings.Required)
	stuck.UID, stuck.Status.Phase = "uid-p-r1", corev1.PodPending
	stuck.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, LastTransitionTime: metav1.NewTime(noon.Add(-time.Hour)),
	}}
	w := newWorld(t, config, interceptor.Funcs{}, stuck, ready("a", withCPUs(1)))
	there, _ := w.pod("p-r1")
	_, err := w.unbound(t.Context(), alone(&there))
	w.ok(err)
	next, exists := w.pod("p-r2")
	if !exists || placement.Avoids(&next, []string{"a"}) || len(memory.Hosts(next.Annotations)) != 0 {
		t.Errorf("the successor exists: %t, with affinity %v", exists, next.Spec.Affinity)
	}
	if _, stays := w.pod("p-r1"); stays {
		t.Error("the pod without a node was not deleted")
	}
}
