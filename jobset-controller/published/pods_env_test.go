//go:build envtest

package published

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/testing/sandbox"
)

// member returns a pod that declares a group of two pods, as an operator would create it. The pod with index 0 requests
// in-place restarts.
func member(index int, change ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:            "train-" + strconv.Itoa(index),
			Labels:          map[string]string{v1alpha2.PodGroupKey: "train-0", v1alpha2.PodGroupIndexKey: strconv.Itoa(index)},
			Annotations:     map[string]string{v1alpha2.PodGroupSizeKey: "2"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Training", Name: "train", UID: "1", Controller: ptr.To(true)}},
		},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "worker", Image: "train:1", Command: []string{"train"}}},
		},
	}
	if index == 0 {
		pod.Annotations[v1alpha2.InPlaceTimeoutKey] = "60s"
	}
	for _, c := range change {
		c(pod)
	}
	return pod
}

func annotated(key, value string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Annotations[key] = value }
}

func (g *guest) createMember(pod *corev1.Pod) *corev1.Pod {
	g.Helper()
	made, err := g.core.CoreV1().Pods(g.namespace).Create(g.Context(), pod, metav1.CreateOptions{})
	g.ok(err)
	return made
}

// leader returns the pod with index 0, or nil if there is none.
func (g *guest) leader() *corev1.Pod { return g.podNamed("train-0") }

func (g *guest) podNamed(name string) *corev1.Pod {
	g.Helper()
	pod, err := g.core.CoreV1().Pods(g.namespace).Get(g.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	g.ok(err)
	return pod
}

func (g *guest) awaitOfLeader(want string) (message string) {
	g.Helper()
	return g.awaitOfPod("train-0", want)
}

// awaitOfPod waits for a condition of a pod, and returns its message.
func (g *guest) awaitOfPod(name, want string) (message string) {
	g.Helper()
	g.eventually(func() string {
		got := inSync + " is absent"
		if pod := g.podNamed(name); pod != nil {
			for _, c := range pod.Status.Conditions {
				if c.Type == inSync {
					got, message = inSync+"="+string(c.Status)+"/"+c.Reason, c.Message
				}
			}
		}
		return sandbox.Differs("condition", want, got)
	})
	return message
}

func (g *guest) awaitRestartsOf(name, want string) {
	g.Helper()
	g.eventually(func() string {
		pod := g.podNamed(name)
		if pod == nil {
			return name + " does not exist"
		}
		return sandbox.Differs("restarts of "+name, want, pod.Annotations[v1alpha2.InPlaceRestartsKey])
	})
}

func (g *guest) awaitNoPods() {
	g.Helper()
	g.eventually(func() string {
		list, err := g.core.CoreV1().Pods(g.namespace).List(g.Context(), metav1.ListOptions{})
		g.ok(err)
		return sandbox.Differs("pods", "0", strconv.Itoa(len(list.Items)))
	})
}

// runMembers creates the pods of a group and makes them join.
func (g *guest) runMembers(change ...func(*corev1.Pod)) []*corev1.Pod {
	g.Helper()
	pods := []*corev1.Pod{g.createMember(member(0, change...)), g.createMember(member(1))}
	g.group = string(pods[0].UID)
	g.joinMembers(pods)
	return pods
}

var memberSlots = []string{"train-0-workers-0-0", "train-0-workers-0-1"}

func (g *guest) joinMembers(pods []*corev1.Pod) {
	g.Helper()
	for i, pod := range pods {
		g.joinAt(memberSlots[i], pod, 1)
	}
	g.awaitOfLeader(inSync + "=True/InSync")
}

func TestGroupOfPodsRestartsInPlaceUntilItsBudgetIsUsedUp(t *testing.T) {
	g := newGuest(t)
	pods := g.runMembers(annotated(v1alpha2.MaxRestartsKey, "1"))
	for i, uid := range []string{"metadata.uid", "metadata.annotations['jobset.sigs.k8s.io/jobset-uid']"} {
		env := pods[i].Spec.Containers[0].Env
		if len(pods[i].Spec.InitContainers) != 1 || env[0].ValueFrom.FieldRef.FieldPath != uid || pods[i].Spec.RestartPolicy != corev1.RestartPolicyNever {
			t.Errorf("pod %d: %+v", i, pods[i].Spec)
		}
	}
	g.dieAt(memberSlots[1], pods[1])
	g.awaitRestartsOf("train-0", "1")
	g.joinMembers(pods)
	g.dieAt(memberSlots[1], pods[1])
	g.awaitNoPods() // their owner recovers the group
	g.awaitEvent("train-0", "InPlaceRestartsOver")
}

// awaitEvent waits for an event about a pod.
func (g *guest) awaitEvent(pod, reason string) {
	g.Helper()
	g.eventually(func() string {
		list, err := g.core.EventsV1().Events(g.namespace).List(g.Context(), metav1.ListOptions{})
		g.ok(err)
		var reasons []string
		for _, e := range list.Items {
			if e.Regarding.Name == pod && e.Reason == reason {
				return ""
			}
			reasons = append(reasons, e.Reason)
		}
		return fmt.Sprintf("no event %s of pod %s, only %s", reason, pod, reasons)
	})
}

func TestGroupOfPodsWhoseRestartTimesOutIsRecreated(t *testing.T) {
	g := newGuest(t)
	pods := g.runMembers(annotated(v1alpha2.InPlaceTimeoutKey, "2s"))
	g.dieAt(memberSlots[1], pods[1]) // and no worker comes back
	g.awaitNoPods()
	g.runMembers()
	if got := g.leader().Annotations[v1alpha2.InPlaceRestartsKey]; got != "0" {
		t.Errorf("the group starts with %s restarts", got)
	}
}

func TestGroupOfPodsEndsWithThePodOfIndex0(t *testing.T) {
	g := newGuest(t)
	g.runMembers()
	g.ok(g.core.CoreV1().Pods(g.namespace).Delete(t.Context(), "train-0", metav1.DeleteOptions{}))
	g.awaitNoPods()
}

func TestLostPodReturnsToItsGroup(t *testing.T) {
	g := newGuest(t)
	pods := g.runMembers()
	g.ok(g.core.CoreV1().Pods(g.namespace).Delete(t.Context(), "train-1", metav1.DeleteOptions{}))
	g.awaitRestartsOf("train-0", "1")
	pods[1] = g.createMember(member(1))
	g.joinMembers(pods)
	if g.leader().UID != pods[0].UID {
		t.Error("the group was recreated")
	}
}

func TestPodIsCreatedAfterThePodOfIndex0(t *testing.T) {
	g := newGuest(t)
	_, err := g.core.CoreV1().Pods(g.namespace).Create(t.Context(), member(1), metav1.CreateOptions{})
	if err == nil || !strings.Contains(err.Error(), "create pod train-0 first") {
		t.Fatalf("it is created: %v", err)
	}
}

func TestGroupOfPodsThatTheWebhookMissedInPartRunsWithoutAgents(t *testing.T) {
	g := newGuest(t)
	first := g.createMember(member(0))
	g.stop() // this also stops its webhook, which fails open
	g.createMember(member(1))
	g.start()
	g.eventually(func() string { // the pod with an agent waits forever for the other pod
		if pod := g.leader(); pod != nil && pod.UID == first.UID {
			return "the pod with index 0 still exists"
		}
		return ""
	})
	g.awaitEvent("train-0", "InPlacePodsWithoutAgents")
	g.refused(g.createMember(member(0)), "pods of the group run without agents: train-1")
}

func TestGroupOfPodsWhoseFirstTheWebhookMissedRunsWithoutAgents(t *testing.T) {
	g := newGuest(t)
	g.stop()
	first := g.createMember(member(0))
	g.start()
	if pod := g.createMember(member(1)); len(pod.Spec.InitContainers) > 0 {
		t.Error("the other pod has an agent")
	}
	g.refused(first, "created without agents")
}

func TestGroupOfPodsThatTheWebhookMissedAsAWholeIsReported(t *testing.T) {
	g := newGuest(t)
	g.stop()
	first := g.createMember(member(0))
	g.createMember(member(1))
	g.start()
	g.refused(first, "created without agents")
	g.awaitEvent("train-0", "InPlacePodsWithoutAgents")
}

// If a pod is recreated without an agent, it is deleted again, until all pods of the group have agents.
func TestReplacementThatTheWebhookMissedIsDeleted(t *testing.T) {
	g := newGuest(t)
	pods := g.runMembers()
	g.stop()
	g.ok(g.core.CoreV1().Pods(g.namespace).Delete(t.Context(), "train-1", metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}))
	g.createMember(member(1))
	g.start()
	g.eventually(func() string {
		if g.podNamed("train-1") != nil {
			return "the pod without an agent exists"
		}
		return ""
	})
	g.awaitEvent("train-0", "InPlacePodsWithoutAgents")
	if leader := g.leader(); leader == nil || leader.UID != pods[0].UID {
		t.Fatal("the group was recreated")
	}
	pods[1] = g.createMember(member(1))
	g.awaitRestartsOf("train-0", "1") // one restart for the lost pod
	g.joinMembers(pods)
	g.awaitRestartsOf("train-0", "1")
}

// If the pod with index 0 is recreated without an agent, the others are deleted, and the next group runs without
// agents.
func TestFirstPodThatIsRecreatedWithoutAnAgentEndsItsGroup(t *testing.T) {
	g := newGuest(t)
	pods := g.runMembers()
	g.stop()
	g.ok(g.core.CoreV1().Pods(g.namespace).Delete(t.Context(), "train-0", metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}))
	first := g.createMember(member(0))
	g.start()
	g.eventually(func() string {
		if pod := g.podNamed("train-1"); pod != nil && pod.UID == pods[1].UID {
			return "the other pod of the group that has ended exists"
		}
		return ""
	})
	if pod := g.createMember(member(1)); len(pod.Spec.InitContainers) > 0 {
		t.Error("the other pod has an agent")
	}
	g.refused(first, "created without agents")
}

// refused waits until the condition of a pod with index 0 reports why its group is not managed.
func (g *guest) refused(leader *corev1.Pod, why string) {
	g.Helper()
	if len(leader.Spec.InitContainers) > 0 {
		g.Error("the pod has an agent")
	}
	if got := g.awaitOfLeader(inSync + "=False/NotPossible"); !strings.Contains(got, why) {
		g.Errorf("the condition is %q, want it to contain %q", got, why)
	}
}

func TestGroupOfPodsThatCannotRestartInPlaceIsReported(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*corev1.Pod)
		why    string
	}{
		"a bad annotation":      {annotated(v1alpha2.InPlaceTimeoutKey, "soon"), `"soon"`},
		"a bad budget":          {annotated(v1alpha2.MaxRestartsKey, "many"), `"many"`},
		"no size":               {func(pod *corev1.Pod) { delete(pod.Annotations, v1alpha2.PodGroupSizeKey) }, v1alpha2.PodGroupSizeKey},
		"no pods":               {annotated(v1alpha2.PodGroupSizeKey, "0"), `"0" is not a number of pods`},
		"too large":             {annotated(v1alpha2.PodGroupSizeKey, "1048577"), "1048576"},
		"a sidecar":             {annotated(v1alpha2.InPlaceDriverKey, "cri"), `supported values: "exec"`},
		"no command":            {func(pod *corev1.Pod) { pod.Spec.Containers[0].Command = nil }, "spec.containers[0].command"},
		"no owner recreates it": {func(pod *corev1.Pod) { pod.OwnerReferences = nil }, "no owner"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGuest(t)
			g.refused(g.createMember(member(0, c.change)), c.why)
			if pod := g.createMember(member(1)); len(pod.Spec.InitContainers) > 0 {
				t.Error("the other pod has an agent")
			}
		})
	}
}

func TestPodThatContradictsItsGroupKeepsAllAgentsOut(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*corev1.Pod)
		why    string
	}{
		"another size":       {annotated(v1alpha2.PodGroupSizeKey, "3"), "group size is 3 here, but 2 on pod train-0"},
		"an index too large": {func(pod *corev1.Pod) { pod.Labels[v1alpha2.PodGroupIndexKey] = "2" }, `"2" is not an index from 0 to 1`},
		"another owner":      {func(pod *corev1.Pod) { pod.OwnerReferences[0].UID = "2" }, "two owners claim the group"},
		"no command":         {func(pod *corev1.Pod) { pod.Spec.Containers[0].Command = nil }, "spec.containers[0].command"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGuest(t)
			first := g.createMember(member(0))
			pod := g.createMember(member(1, c.change))
			if got := pod.Annotations[v1alpha2.RefusedKey]; !strings.Contains(got, c.why) || len(pod.Spec.InitContainers) > 0 {
				t.Errorf("the condition is %q, want it to contain %q, or the pod has an agent", got, c.why)
			}
			g.eventually(func() string {
				if pod := g.leader(); pod != nil && pod.UID == first.UID {
					return "the pod with index 0 still exists"
				}
				return ""
			})
			g.refused(g.createMember(member(0)), "train-1")
		})
	}
}

func TestTwoPodsOfOneIndexPreventTheGroupFromRunning(t *testing.T) {
	g := newGuest(t)
	g.createMember(member(0, annotated(v1alpha2.PodGroupSizeKey, "3")))
	for _, name := range []string{"train-1", "train-1-again"} {
		g.createMember(member(1, annotated(v1alpha2.PodGroupSizeKey, "3"), func(pod *corev1.Pod) { pod.Name = name }))
	}
	if got := g.awaitOfLeader(inSync + "=False/NotPossible"); !strings.Contains(got, "have the same index") {
		t.Errorf("the condition is %q", got)
	}
	g.ok(g.core.CoreV1().Pods(g.namespace).Delete(t.Context(), "train-1-again", metav1.DeleteOptions{}))
	g.awaitOfLeader(inSync + "=False/WaitingForWorkers")
}
