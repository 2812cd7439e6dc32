//go:build envtest

package app

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/internal/controller/rescheduling"
	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
	"github.com/holdfast-project/holdfast/shared/history"
	"github.com/holdfast-project/holdfast/shared/recovering"
)

func (w *world) deployment(replicas int32, change ...func(*appsv1.Deployment)) *appsv1.Deployment {
	w.Helper()
	d := &appsv1.Deployment{ObjectMeta: w.meta("w"), Spec: appsv1.DeploymentSpec{Replicas: ptr.To(replicas), Selector: selector, Template: w.template()}}
	for _, c := range change {
		c(d)
	}
	w.ok(w.Create(w.Context(), d))
	return d
}

// another creates a second workload that requests moves. Once the second one has been handled, the controller has also finished with the
// first.
func (w *world) another(name string) {
	w.Helper()
	labels := map[string]string{"app": name}
	d := &appsv1.Deployment{ObjectMeta: w.meta(name), Spec: appsv1.DeploymentSpec{
		Replicas: ptr.To[int32](1), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: w.template(),
	}}
	d.Spec.Template.Labels = labels
	w.ok(w.Create(w.Context(), d))
}

func (w *world) memoryOf(o client.Object) memory.Memory {
	w.Helper()
	w.ok(w.Get(w.Context(), client.ObjectKeyFromObject(o), o))
	return memory.Read(o.GetAnnotations())
}

// said waits for an event about an object of the given kind.
func (w *world) said(reason, kind, part string) {
	w.Helper()
	w.eventually("no event "+reason+" of the "+kind+" with "+part, func() bool {
		return slices.ContainsFunc(w.events(reason), func(note string) bool { return strings.HasPrefix(note, kind) && strings.Contains(note, part) })
	})
}

// This is story 1 of the design document.
func TestPodInOOMLoopIsMoved(t *testing.T) {
	w := newWorld(t)
	w.onBad(outOfMemory)
	d := w.deployment(1)
	w.eventually("the pod does not run on the good node", w.runningOnGood(1))
	if got := w.boundTo(w.bad); len(got) != 1 {
		t.Errorf("pods that were bound to the bad node: %v", got)
	}
	if m := w.memoryOf(d); m.Times != 1 || m.Entries[0].Class != "OOMKilled" {
		t.Errorf("the memory is %+v", m)
	}
	if got, want := d.Annotations[memory.WorkloadAnnotation], `{"currentReschedulingTimes":1,"deployScheduledHosts":["`+w.bad+`"]}`; got != want {
		t.Errorf("%s is %s, want %s", memory.WorkloadAnnotation, got, want)
	}
	w.said("Rescheduled", "Deployment", "OOMKilled on node "+w.bad+": evicted")
	w.said("Rescheduled", "Pod", "move 1 of 3")
	w.eventually("the decision is not recorded on the Deployment", func() bool {
		w.ok(w.Get(t.Context(), client.ObjectKeyFromObject(d), d))
		return strings.Contains(d.Annotations[rescheduling.DecisionAnnotation], "evicted, to run on another node")
	})
}

func TestWorkloadWithoutAnnotationIsNotMoved(t *testing.T) {
	w := newWorld(t)
	w.onBad(outOfMemory)
	d := w.deployment(1, func(d *appsv1.Deployment) { d.Annotations = nil })
	w.another("asks")
	w.eventually("the pod of the workload that requests moves is not moved", w.runningOnGood(1))
	if got := w.boundTo(w.bad); len(got) != 2 {
		t.Errorf("pods that were bound to the bad node: %v", got)
	}
	if m := w.memoryOf(d); !m.Empty() {
		t.Errorf("the memory is %+v", m)
	}
}

// A pod of a DaemonSet belongs to its node. It is not moved, and neither is its successor, although the DaemonSet requests moves.
func TestDaemonSetPodsAreNotMoved(t *testing.T) {
	w := newWorld(t)
	w.onBad(outOfMemory)
	template := w.template()
	template.Labels = map[string]string{"app": "daemon"}
	set := &appsv1.DaemonSet{ObjectMeta: w.meta("d"), Spec: appsv1.DaemonSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: template,
	}}
	w.ok(w.Create(t.Context(), set))
	for i, name := range []string{"d-1", "d-2"} { // the DaemonSet controller is not running here
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.namespace, Labels: template.Labels}, Spec: template.Spec}
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))}
		w.ok(w.Create(t.Context(), pod))
		w.another(fmt.Sprint("asks-", i))
		w.eventually("the pod of the workload that requests moves is not moved", w.runningOnGood(i+1))
	}
	for _, pod := range w.pods(t.Context()) {
		if strings.HasPrefix(pod.Name, "d-") && (pod.Spec.NodeName != w.bad || pod.DeletionTimestamp != nil || pod.Annotations[memory.HostsAnnotation] != "") {
			t.Errorf("pod %s is on node %s, with %v", pod.Name, pod.Spec.NodeName, pod.Annotations)
		}
	}
	if m := w.memoryOf(set); !m.Empty() || len(w.onNode("d-", w.bad)) != 2 {
		t.Errorf("the memory of the DaemonSet is %+v; its pods on the bad node: %v", m, w.onNode("d-", w.bad))
	}
}

// onNode returns the pods with a prefix that run on a node.
func (w *world) onNode(prefix, node string) (names []string) {
	for _, pod := range w.pods(w.Context()) {
		if strings.HasPrefix(pod.Name, prefix) && pod.Spec.NodeName == node && pod.DeletionTimestamp == nil {
			names = append(names, pod.Name)
		}
	}
	return names
}

// The pods of a hanging workload cause no further events. They must still be moved when a user requests moves.
func TestAnnotationCanBeAddedToHangingWorkload(t *testing.T) {
	w := newWorld(t)
	w.onBad(outOfMemory)
	d := w.deployment(1, func(d *appsv1.Deployment) { d.Annotations = nil })
	w.another("asks")
	w.eventually("the pod of the workload that requests moves is not moved", w.runningOnGood(1))
	before := d.DeepCopy()
	metav1.SetMetaDataAnnotation(&d.ObjectMeta, memory.RetriesAnnotation, "3")
	w.ok(w.Patch(t.Context(), d, client.MergeFrom(before)))
	w.eventually("the pod of the other workload is not moved", w.runningOnGood(2))
}

// As the notes in the design document say, exclusions are lifted once the moves are used up, and the pod is not moved.
func TestExclusionsAreLiftedWhenMovesAreUsedUp(t *testing.T) {
	w := newWorld(t)
	w.kubelet = func(*corev1.Pod) *corev1.PodStatus { return outOfMemory() }
	d := w.deployment(1, func(d *appsv1.Deployment) { d.Annotations[memory.RetriesAnnotation] = "1" })
	w.said("ReschedulingExhausted", "Deployment", "all 1 moves are used up")
	m := w.memoryOf(d)
	if !m.Exhausted || m.Times != 1 || d.Annotations[memory.WorkloadAnnotation] != `{"currentReschedulingTimes":1,"deployScheduledHosts":[]}` {
		t.Errorf("the memory is %+v, %s", m, d.Annotations[memory.WorkloadAnnotation])
	}
	if bad, good := w.boundTo(w.bad), w.boundTo(w.good); len(bad) != 1 || len(good) != 1 {
		t.Errorf("bound to the bad node: %v, to the good node: %v", bad, good)
	}
}

func TestPodDisruptionBudgetIsRespected(t *testing.T) {
	w := newWorld(t)
	pdb := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "w", Namespace: w.namespace},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: selector, MaxUnavailable: ptr.To(intstr.FromInt32(0))},
	}
	w.ok(w.Create(t.Context(), pdb))
	w.eventually("the PodDisruptionBudget is not up to date", func() bool {
		w.ok(w.Get(t.Context(), client.ObjectKeyFromObject(pdb), pdb))
		return pdb.Status.ObservedGeneration == pdb.Generation
	})
	w.onBad(outOfMemory)
	w.deployment(1)
	w.said("BlockedByDisruptionBudget", "Deployment", "does not allow the eviction")
	if got := w.boundTo(w.good); len(got) != 0 {
		t.Errorf("moved pods: %v", got)
	}
	before := pdb.DeepCopy()
	pdb.Spec.UnhealthyPodEvictionPolicy = ptr.To(policyv1.AlwaysAllow)
	w.ok(w.Patch(t.Context(), pdb, client.MergeFrom(before)))
	w.eventually("the pod is not moved although the budget allows it", w.runningOnGood(1))
}

// An event reports that the moves are used up, and the next pod is not moved.
func TestMovesAreLimited(t *testing.T) {
	one := settings.Rate{Burst: 1, Every: metav1.Duration{Duration: time.Hour}}
	for name, c := range map[string]struct {
		change func(*settings.Rescheduling)
		moved  int32
		why    string
	}{
		"budget of a workload":  {func(r *settings.Rescheduling) { r.Limits.Workload = one }, 1, "the budget of the workload is used up"},
		"budget of a node":      {func(r *settings.Rescheduling) { r.Limits.Node = one }, 1, "the budget of node"},
		"budget of a namespace": {func(r *settings.Rescheduling) { r.Limits.Namespace = one }, 1, "the budget of namespace"},
		"budget of the cluster": {func(r *settings.Rescheduling) { r.Limits.Cluster = one }, 1, "the budget of the cluster is used up"},
		"circuit breaker":       {func(r *settings.Rescheduling) { r.Breaker.Moves = 1 }, 2, "more than 1 pods were moved within"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.change)
			w.onBad(outOfMemory)
			w.deployment(c.moved + 1)
			w.said("ReschedulingLimited", "Pod", c.why)
			w.eventually("the moved pods do not run on the good node", w.runningOnGood(int(c.moved)))
			if stay := w.onNode("w-", w.bad); len(stay) != 1 {
				t.Errorf("these pods stay on the bad node: %v", stay)
			}
			if got := w.boundTo(w.good); len(got) != int(c.moved) {
				t.Errorf("pods that were bound to the good node: %v", got)
			}
			w.said("ReschedulingLimited", "Deployment", c.why)
		})
	}
}

// When one member of a group fails, the others often fail too. One fault costs one move.
func TestGroupIsMovedOnce(t *testing.T) {
	w := newWorld(t)
	w.onBad(outOfMemory)
	d := w.deployment(2, func(d *appsv1.Deployment) { d.Spec.Template.Labels["scheduling.x-k8s.io/pod-group"] = "g" })
	w.said("GroupMovedAlready", "Pod", "another pod of group g was moved")
	w.eventually("the moved pod does not run on the good node", w.runningOnGood(1))
	if stay, went := w.onNode("w-", w.bad), w.boundTo(w.good); len(stay) != 1 || len(went) != 1 {
		t.Errorf("pods on the bad node: %v; pods that were bound to the good node: %v", stay, went)
	}
	if m := w.memoryOf(d); m.Times != 1 || len(m.Entries) != 1 || m.Entries[0].Count != 1 || len(m.Entries[0].Pods) != 1 {
		t.Errorf("the memory is %+v", m)
	}
	if moves := w.events("Rescheduled"); len(moves) != 2 { // one for the pod and one for the Deployment
		t.Errorf("events about moves: %v", moves)
	}
}

// Kueue has chosen the node of such a pod, so with an exclusion the pod could not be scheduled. When pods of another workload also fail
// on the node, it is tainted, and Kueue reacts to the taint.
func TestNodeOfPodPlacedByKueueIsTainted(t *testing.T) {
	w := newWorld(t, func(r *settings.Rescheduling) {
		r.Blame.Taint, r.Blame.MaxShare, r.Blame.MinPods, r.Blame.Threshold = true, 50, 2, 6
	})
	w.onBad(func() *corev1.PodStatus { return rejects("UnexpectedAdmissionError") })
	byKueue := func(d *appsv1.Deployment) {
		d.Spec.Template.Annotations["kueue.x-k8s.io/podset-required-topology"] = corev1.LabelHostname
	}
	w.deployment(1, byKueue)
	w.said("NotMovable", "Pod", "because the node has no taint")
	if w.isTainted(w.bad) {
		t.Error("one workload caused a taint")
	}
	w.another("accuses")
	w.eventually("the replacements do not run on the good node", w.runningOnGood(2))
	if !w.isTainted(w.bad) || w.isTainted(w.good) {
		t.Errorf("the bad node is tainted: %t, the good node: %t", w.isTainted(w.bad), w.isTainted(w.good))
	}
	for _, pod := range w.pods(t.Context()) {
		hosts, found := pod.Annotations[memory.HostsAnnotation]
		if pod.Annotations["kueue.x-k8s.io/podset-required-topology"] != "" && (found || pod.Spec.Affinity != nil) {
			t.Errorf("pod %s avoids %s, and has affinity %v", pod.Name, hosts, pod.Spec.Affinity)
		}
	}
}

func (w *world) isTainted(name string) bool {
	w.Helper()
	node := &corev1.Node{}
	w.ok(w.Get(w.Context(), client.ObjectKey{Name: name}, node))
	return slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == rescheduling.TaintKey })
}

// gadget returns an object of a kind that only this test defines. It allows two moves.
func (w *world) gadget(name string) *unstructured.Unstructured {
	w.Helper()
	gadget := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Gadget"}}
	gadget.SetName(name)
	gadget.SetNamespace(w.namespace)
	gadget.SetAnnotations(map[string]string{memory.RetriesAnnotation: "2"})
	w.ok(w.Create(w.Context(), gadget))
	return gadget
}

// The root owner holds the failure history even if it is of an unknown kind.
func TestRootOwnerOfUnknownKind(t *testing.T) {
	w := newWorld(t)
	w.onBad(outOfMemory)
	gadget := w.gadget("g")
	d := w.deployment(1, func(d *appsv1.Deployment) {
		d.Annotations = nil
		d.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(gadget, gadget.GroupVersionKind())}
	})
	w.eventually("the pod does not run on the good node", w.runningOnGood(1))
	if m := w.memoryOf(gadget); m.Times != 1 {
		t.Errorf("the memory of the gadget is %+v", m)
	}
	if m := w.memoryOf(d); !m.Empty() {
		t.Errorf("the memory of the Deployment is %+v", m)
	}
}

func TestPodRecoveringInPlaceIsNotMovedUntilDeadline(t *testing.T) {
	w := newWorld(t)
	w.onBad(outOfMemory)
	state := recovering.State{Level: recovering.LevelGroup, Reason: "in place", Deadline: time.Now().Add(time.Hour)}
	d := w.deployment(1, func(d *appsv1.Deployment) { d.Annotations[recovering.Annotation] = state.Format() })
	// Once another workload is handled, the controller has had enough time for the pods of this namespace.
	w.another("free")
	w.eventually("the pod of the other workload is not moved", w.runningOnGood(1))
	if m := w.memoryOf(d); !m.Empty() {
		t.Fatalf("the memory is %+v", m)
	}
	before := d.DeepCopy()
	delete(d.Annotations, recovering.Annotation)
	w.ok(w.Patch(t.Context(), d, client.MergeFrom(before)))
	w.eventually("the pod is not moved after the recovery has ended", w.runningOnGood(2))
}

func TestDryRunOnlySendsEvents(t *testing.T) {
	w := newWorld(t, func(r *settings.Rescheduling) { r.DryRun = true })
	w.onBad(outOfMemory)
	d := w.deployment(1)
	w.said("WouldReschedule", "Deployment", "dry run: OOMKilled on node "+w.bad)
	if m := w.memoryOf(d); !m.Empty() || len(w.boundTo(w.good)) != 0 {
		t.Errorf("the memory is %+v, and pods are on the good node: %v", m, w.boundTo(w.good))
	}
}

func TestBarePodIsRecreated(t *testing.T) {
	w := newWorld(t, func(r *settings.Rescheduling) { r.BarePods.Recreate = true })
	w.onBad(func() *corev1.PodStatus { return rejects("UnexpectedAdmissionError") })
	template := w.template()
	pod := &corev1.Pod{ObjectMeta: w.meta("lonely"), Spec: template.Spec}
	w.ok(w.Create(t.Context(), pod))
	w.eventually("the pod does not run on the good node after it was recreated", w.runningOnGood(1))
	w.eventually("the old pod still exists", func() bool { return len(w.pods(t.Context())) == 1 })
	next := w.pods(t.Context())[0]
	if next.Name != "lonely-r1" || next.Annotations[rescheduling.SuccessorOf] != string(pod.UID) || next.Annotations[memory.RetriesAnnotation] != "3" {
		t.Errorf("%s with %v", next.Name, next.Annotations)
	}
	if got, want := next.Annotations[memory.PodAnnotation], `{"currentReschedulingTimes":1,"podScheduledHosts":["`+w.bad+`"]}`; got != want {
		t.Errorf("%s is %s, want %s", memory.PodAnnotation, got, want)
	}
}

func TestBarePodWithoutAnnotationIsNotMoved(t *testing.T) {
	w := newWorld(t)
	w.onBad(func() *corev1.PodStatus { return rejects("UnexpectedAdmissionError") })
	w.ok(w.Create(t.Context(), &corev1.Pod{ObjectMeta: w.meta("lonely"), Spec: w.template().Spec}))
	w.said("NotMovable", "Pod", "barePods.recreate is off")
	if pods := w.pods(t.Context()); len(pods) != 1 || pods[0].Name != "lonely" {
		t.Errorf("%d pods", len(pods))
	}
}

// The good node is full. A pod with node affinity is replaced by one without.
func TestExclusionsThatLeaveNoNodeAreLifted(t *testing.T) {
	w := newWorld(t, func(r *settings.Rescheduling) { r.RelaxAfter = metav1.Duration{Duration: 200 * time.Millisecond} })
	first := true
	w.mu.Lock()
	w.kubelet = func(pod *corev1.Pod) *corev1.PodStatus {
		if first && pod.Spec.NodeName == w.bad {
			first = false
			return rejects("TopologyAffinityError")
		}
		return nil
	}
	w.mu.Unlock()
	w.deployment(1)
	w.eventually("no replacement runs on the good node", w.runningOnGood(1))
	w.fill(w.good)
	for _, pod := range w.pods(t.Context()) {
		if pod.Spec.NodeName == w.good {
			w.ok(w.Delete(t.Context(), &pod))
		}
	}
	w.eventually("no pod returns to the bad node", func() bool {
		return slices.ContainsFunc(w.pods(t.Context()), func(p corev1.Pod) bool {
			return p.Spec.NodeName == w.bad && p.Status.Phase == corev1.PodRunning
		})
	})
	w.said("ExclusionsLifted", "Deployment", "it may return to "+w.bad)
}

func TestTaintOfBlamedNodeExpires(t *testing.T) {
	w := newWorld(t, func(r *settings.Rescheduling) {
		r.Blame.Taint, r.Blame.MinPods, r.Blame.Threshold = true, 2, 6
		r.Blame.MaxShare, r.Blame.TTL = 50, metav1.Duration{Duration: 3 * time.Second}
	})
	w.onBad(func() *corev1.PodStatus { return rejects("UnexpectedAdmissionError") })
	w.deployment(1)
	w.another("accuses")
	tainted := func() bool { return w.isTainted(w.bad) }
	w.eventually("the bad node is not tainted", tainted)
	w.eventually("the taint does not expire", func() bool { return !tainted() })
}

// The supervisor restarts the processes of its worker, which is invisible to the kubelet. The group's owner names the worker that
// failed.
func TestSlotThatKeepsFailingInPlaceIsRecorded(t *testing.T) {
	w := newWorld(t)
	gadget := w.gadget("set")
	pod := &corev1.Pod{ObjectMeta: w.meta("set-w-0-0-abc"), Spec: w.template().Spec}
	pod.Annotations = nil
	pod.Labels = map[string]string{"batch.kubernetes.io/job-completion-index": "0", "batch.kubernetes.io/job-name": "set-w-0"}
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(gadget, gadget.GroupVersionKind())}
	pod.Spec.Containers[0].Command = []string{"holdfast-exec", "--", "python"}
	w.ok(w.Create(t.Context(), pod))
	w.eventually("the pod is not bound to the bad node", func() bool { return len(w.boundTo(w.bad)) == 1 })
	var account []history.Entry
	for i := range 3 {
		account = append(account, history.Entry{
			Kind: history.InPlace, FailedAt: time.Now(), Attempt: history.Attempt{Round: int64(i)}, Cause: history.Cause{Kind: "exit", ExitCode: 1},
			Worker: "w-0-0", Pod: "abc", Node: w.bad,
		})
	}
	before := gadget.DeepCopy()
	gadget.SetAnnotations(map[string]string{memory.RetriesAnnotation: "2", history.Annotation: history.Format(account)})
	w.ok(w.Patch(t.Context(), gadget, client.MergeFrom(before)))
	w.eventually("the failure is not recorded on the owner", func() bool {
		m := w.memoryOf(gadget)
		return m.Times == 0 && len(m.Entries) == 1 && m.Entries[0].Slot == "set-w-0/0" && m.Entries[0].Class == "FailsInPlace"
	})
}

func TestInvalidAnnotationIsReported(t *testing.T) {
	w := newWorld(t)
	w.deployment(1, func(d *appsv1.Deployment) { d.Annotations[memory.RetriesAnnotation] = "many" })
	w.said("InvalidAnnotation", "Pod", `"many" is not a non-negative integer`)
}
