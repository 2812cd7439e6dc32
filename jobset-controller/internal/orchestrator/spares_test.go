package orchestrator

import (
	"context"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// withSpare returns a group in sync with one Job of four pods, and a spare waiting on another node.
func withSpare(t *testing.T) *rig {
	g := fourPods(t)
	g.changeJob(func(job *batchv1.Job) {
		job.Spec.Template.Spec.InitContainers = nil
		job.Spec.Template.Spec.Containers = []corev1.Container{{Name: "worker", Command: []string{"/holdfast/holdfast-exec", "--", "train"}}}
	})
	job := childJob(g.jobSet())
	job.Name, job.UID, job.Labels[v1alpha2.JobIndexKey] = "js-w-spares", "spares-uid", coordination.Spares
	g.must(g.c.Create(g.ctx, job))
	g.makePod(0, 0, func(pod *corev1.Pod) {
		ofJob(pod)
		pod.Name, pod.UID, pod.OwnerReferences[0].UID = "js-w-spares-0", "spare", job.UID
		pod.Annotations[v1alpha2.JobIndexKey], pod.Spec.NodeName = coordination.Spares, "n2"
		pod.Labels[v1alpha2.JobKey] = "key of spares"
	})
	g.reconcile()
	return g
}

func TestASpareTakesTheSlotOfALostPod(t *testing.T) {
	g := withSpare(t)
	if got := g.group(); got.Size != 4 {
		t.Fatalf("a spare is counted: %+v", got)
	}
	g.lose(2)
	g.reconcile()
	g.wantPhase(coordination.Restarting, 1, 1)
	if got := g.group().Given; len(got) != 1 || got[0] != (rounds.Seat{Slot: rounds.Slot{Name: "js-w-0-2", Pod: "spare"}, Home: "js-w-spares-0"}) {
		t.Fatalf("given %+v", got)
	}
	var spare corev1.Pod
	g.must(g.c.Get(g.ctx, types.NamespacedName{Namespace: "ns", Name: "js-w-spares-0"}, &spare))
	if got := spare.Annotations[v1alpha2.SlotKey]; got != "js-w-0-2" {
		t.Errorf("annotation %q", got)
	}
	made := g.podsOf("2")
	if len(made) != 1 || made[0].Annotations[v1alpha2.SlotKey] != v1alpha2.SlotWaits {
		t.Fatalf("the new pod of the slot does not wait: %+v", made)
	}
	if affinity := made[0].Spec.Affinity; affinity == nil || len(affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution) != 1 {
		t.Errorf("the new pod prefers no other nodes: %+v", affinity)
	}
	g.wantEvents("the pod of worker js-w-0-2 was lost", "worker js-w-0-2 lost its pod; spare js-w-spares-0 takes its slot", madeAnew)
	for _, slot := range []string{"js-w-0-0", "js-w-0-1", "js-w-0-3"} {
		g.joinSlot(slot, 1, 2)
	}
	g.joinPod(rounds.Slot{Name: "js-w-0-2", Pod: "spare"}, 1, 1)
	g.reconcile()
	g.wantPhase(coordination.Running, 1, 1)
	g.wantCharged("1")
}

// The leader must not annotate another pod with the same name.
func TestOnlyThePodThatWasGivenASlotIsMarked(t *testing.T) {
	g := withSpare(t)
	patched := 0
	g.r.Client = g.through(interceptor.Funcs{Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
		if data, err := patch.Data(obj); err == nil && obj.GetName() == "js-w-spares-0" {
			patched++
			if want := `{"metadata":{"uid":"spare","annotations":{"holdfast.dev/slot":"js-w-0-2"}}}`; string(data) != want {
				t.Errorf("patch %s, want %s", data, want)
			}
		}
		return c.Patch(ctx, obj, patch, opts...)
	}})
	g.lose(2)
	g.reconcile()
	if patched != 1 {
		t.Errorf("%d patches of the spare", patched)
	}
}

func TestASpareThatRunsWakesTheLeader(t *testing.T) {
	waiting := func(index string) *corev1.Pod {
		pod := &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning}}
		pod.Annotations = map[string]string{
			v1alpha2.JobSetNameKey: "js", v1alpha2.JobSetUIDKey: uid, v1alpha2.ReplicatedJobNameKey: "w", v1alpha2.JobIndexKey: index, batchv1.JobCompletionIndexAnnotation: "0",
		}
		return pod
	}
	if !isSpare(podOf(waiting(coordination.Spares))) || isSpare(podOf(waiting("0"))) {
		t.Error("a spare must be recognized by its Job")
	}
	next := waiting("0")
	next.Annotations[v1alpha2.SlotKey] = v1alpha2.SlotWaits
	if p := podOf(next); !isSpare(p) || p.Given != "" {
		t.Errorf("%+v", p)
	}
}

// Without the webhook, a condition reports spares that cannot take over.
func TestSparesThatCannotTakeOverAreReported(t *testing.T) {
	annotated := func(key, value string) func(*v1alpha2.JobSet) {
		return func(js *v1alpha2.JobSet) { js.Annotations[key] = value }
	}
	for name, c := range map[string]struct {
		change func(*v1alpha2.JobSet)
		why    string
	}{
		"negative":            {annotated(v1alpha2.SparesKey, "-1"), "Invalid value"},
		"no number":           {annotated(v1alpha2.SparesKey, "two"), "Invalid value"},
		"too many":            {annotated(v1alpha2.SparesKey, "101"), "Invalid value"},
		"the cri driver":      {annotated(v1alpha2.InPlaceDriverKey, "cri"), "Forbidden: spares wait at the barrier"},
		"exclusive placement": {annotated(v1alpha2.ExclusiveKey, "rack"), "Forbidden: a spare has no place"},
		"success of any": {func(js *v1alpha2.JobSet) {
			js.Spec.SuccessPolicy = &v1alpha2.SuccessPolicy{Operator: v1alpha2.OperatorAny}
		}, "Forbidden: a worker that finishes in a spare"},
		"a queue": {func(js *v1alpha2.JobSet) { js.Labels = map[string]string{v1alpha2.QueueNameLabel: "q"} }, "Forbidden: Kueue does not count spares"},
	} {
		t.Run(name, func(t *testing.T) {
			isRefused(t, func(js *v1alpha2.JobSet) {
				plain(js)
				js.Annotations[v1alpha2.SparesKey] = "1"
				c.change(js)
			}, "no agent can be added to the pods: metadata.annotations[holdfast.dev/spares]: "+c.why)
		})
	}
}
