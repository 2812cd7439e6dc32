package placement

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/exclusive"
)

func follower() *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{batchv1.JobCompletionIndexAnnotation: "3"}}}
}

func TestOnlyRelevantChangesTriggerAReconcile(t *testing.T) {
	waiting := func(message string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Message: message}}
		}
	}
	for name, test := range map[string]struct {
		before, after func(*corev1.Pod)
		want          bool
	}{
		"nothing":                          {want: false},
		"a container restarts":             {after: func(p *corev1.Pod) { p.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: 1}} }},
		"a pod starts running":             {after: func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning }},
		"a condition":                      {after: waiting("no room")},
		"a pod gets a node":                {after: func(p *corev1.Pod) { p.Spec.NodeName = "n" }, want: true},
		"a pod is deleted":                 {after: func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }},
		"a pod is deleted at a time":       {after: func(p *corev1.Pod) { now := metav1.Now(); p.DeletionTimestamp = &now }, want: true},
		"a pod fails":                      {after: func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, want: true},
		"a pod succeeds":                   {after: func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }, want: true},
		"the gate is lifted":               {before: func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: exclusive.Gate}} }, want: true},
		"a pod may be scheduled elsewhere": {after: func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"rack": "a"} }, want: true},
		"an annotation":                    {after: func(p *corev1.Pod) { p.Annotations["a"] = "b" }, want: true},
		"another pod with the same name":   {after: func(p *corev1.Pod) { p.UID = "other" }, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := follower(), follower()
			if test.before != nil {
				test.before(before)
			}
			if test.after != nil {
				test.after(after)
			}
			if got := moved(before, after); got != test.want {
				t.Errorf("relevant: %t, want %t", got, test.want)
			}
		})
	}
}

// waits records how long each request waits.
type waits struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	list []string
}

func (w *waits) AddAfter(r reconcile.Request, d time.Duration) {
	w.list = append(w.list, r.String()+" "+d.String())
}

func TestEventsAreDebouncedExceptThoseOfLeaders(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*corev1.Pod)
		want   []string
	}{
		"a leader":                             {func(p *corev1.Pod) { p.Annotations[batchv1.JobCompletionIndexAnnotation] = "0" }, []string{"ns/job 0s"}},
		"a follower that waits":                {func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: exclusive.Gate}} }, []string{"ns/job 250ms"}},
		"a follower":                           {func(*corev1.Pod) {}, []string{"ns/job 1s"}},
		"a pod without an index":               {func(p *corev1.Pod) { delete(p.Annotations, batchv1.JobCompletionIndexAnnotation) }, []string{"ns/job 1s"}},
		"a pod without an owner":               {func(p *corev1.Pod) { p.OwnerReferences = nil }, nil},
		"a pod that is not placed exclusively": {func(p *corev1.Pod) { delete(p.Annotations, v1alpha2.ExclusiveKey) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			pod := follower()
			pod.Namespace, pod.Annotations[v1alpha2.ExclusiveKey] = "ns", "rack"
			pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "job", Controller: ptr.To(true)}}
			c.change(pod)
			q := &waits{}
			podEvents().Create(t.Context(), event.CreateEvent{Object: pod}, q)
			bound := pod.DeepCopy()
			bound.Spec.NodeName = "n"
			podEvents().Update(t.Context(), event.UpdateEvent{ObjectOld: pod, ObjectNew: bound}, q)
			podEvents().Update(t.Context(), event.UpdateEvent{ObjectOld: bound, ObjectNew: bound}, q)
			podEvents().Delete(t.Context(), event.DeleteEvent{Object: bound}, q)
			var want []string
			for range 3 {
				want = append(want, c.want...)
			}
			if diff := cmp.Diff(want, q.list); diff != "" {
				t.Errorf("created, changed, deleted (-want +got)\n%s", diff)
			}
		})
	}
}
