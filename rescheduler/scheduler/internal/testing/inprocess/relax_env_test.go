//go:build envtest

package inprocess

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
)

// No pod is preempted because of another pod's exclusions.
func TestRelaxationComesBeforePreemption(t *testing.T) {
	w := newWorld(t)
	w.node("bad", "1")
	w.node("full", "1")
	w.pod("victim", runsOn("full"))
	w.scheduler(inPlace)
	w.pod("returns", staysAwayFrom("bad"), mayPreempt)
	w.lands("returns", "bad")
	w.loses("returns", memory.HostsAnnotation)
	w.says("returns", "ExclusionsDropped")
	if victim := w.get("victim"); victim.DeletionTimestamp != nil || victim.Spec.NodeName != "full" {
		t.Error("another pod was preempted")
	}
}

func TestPodReturnsIfItFitsNowhereElse(t *testing.T) {
	w := newWorld(t)
	w.node("bad", "4", "eligible")
	w.node("other", "4")
	w.scheduler(inPlace)
	w.pod("returns", staysAwayFrom("bad"), onlyOn("eligible"))
	w.lands("returns", "bad")
	w.loses("returns", memory.HostsAnnotation)
}

// If preemption is needed anyway, it happens on a node where the pod has not failed.
func TestNoPreemptionOnExcludedNodes(t *testing.T) {
	w := newWorld(t)
	w.node("bad", "1")
	w.node("good", "1")
	w.pod("on-bad", runsOn("bad"))
	w.pod("on-good", runsOn("good"))
	w.scheduler(inPlace)
	w.pod("preempts", staysAwayFrom("bad"), mayPreempt)
	w.lands("preempts", "good")
	if got := w.get("on-bad"); got.DeletionTimestamp != nil {
		t.Error("a pod was preempted on an excluded node")
	}
	if _, found := w.get("preempts").Annotations[memory.HostsAnnotation]; !found {
		t.Error("the exclusions were dropped although preemption was possible elsewhere")
	}
}

// Without the exclusion, the scheduler would preempt a pod on the excluded node. With it, the pod would wait forever.
func TestPodReturnsIfOnlyThereItCanPreempt(t *testing.T) {
	w := newWorld(t)
	w.node("bad", "1", "eligible")
	w.node("other", "4")
	w.pod("victim", runsOn("bad"))
	w.scheduler(inPlace)
	w.pod("returns", staysAwayFrom("bad"), onlyOn("eligible"), mayPreempt)
	w.lands("returns", "bad")
	w.loses("returns", memory.HostsAnnotation)
}

// A pod that cannot preempt waits for any node. The first one with capacity may be the one on which it
// failed.
func TestPodReturnsWhenThereIsRoom(t *testing.T) {
	w := newWorld(t)
	w.node("bad", "1")
	w.node("other", "1")
	w.pod("leaves", runsOn("bad"))
	w.pod("stays", runsOn("other"))
	w.scheduler(inPlace)
	w.pod("returns", staysAwayFrom("bad"))
	w.waits("returns")
	w.ok(w.CoreV1().Pods(namespace).Delete(t.Context(), "leaves", metav1.DeleteOptions{}))
	w.lands("returns", "bad")
	w.loses("returns", memory.HostsAnnotation)
}

// The permissions of a second scheduler are sufficient: it schedules, preempts and clears annotations.
func TestRBACOfTheSecondScheduler(t *testing.T) {
	w := newWorld(t)
	w.apply("rbac.yaml")
	w.node("bad", "1", "eligible")
	w.node("other", "1", "full")
	w.pod("victim", runsOn("other"), bySecond)
	config := rest.CopyConfig(apiServer)
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:kube-system:holdfast-scheduler"}
	w.schedulerAs(config, "config.yaml")
	w.pod("returns", staysAwayFrom("bad"), onlyOn("eligible"), bySecond)
	w.lands("returns", "bad")
	w.loses("returns", memory.HostsAnnotation)
	w.pod("preempts", onlyOn("full"), mayPreempt, bySecond)
	w.lands("preempts", "other")
}

// If the cluster's own scheduler is replaced, its user lacks only one permission, which the file grants.
func TestRBACOfTheClusterScheduler(t *testing.T) {
	w := newWorld(t)
	w.apply("profile-rbac.yaml")
	w.node("bad", "1", "eligible")
	w.node("other", "1", "full")
	w.pod("victim", runsOn("other"))
	config := rest.CopyConfig(apiServer)
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:kube-scheduler"}
	w.schedulerAs(config, inPlace)
	w.pod("returns", staysAwayFrom("bad"), onlyOn("eligible"))
	w.lands("returns", "bad")
	w.loses("returns", memory.HostsAnnotation)
	w.pod("preempts", onlyOn("full"), mayPreempt)
	w.lands("preempts", "other")
}

// Without permission to patch pods, a relaxed pod keeps its annotation, and is still scheduled.
func TestRelaxationWithoutPatchPermission(t *testing.T) {
	w := newWorld(t)
	w.apply("rbac.yaml")
	w.ok(w.RbacV1().ClusterRoles().Delete(t.Context(), "holdfast-scheduler", metav1.DeleteOptions{}))
	w.node("bad", "4", "eligible")
	w.node("other", "4")
	config := rest.CopyConfig(apiServer)
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:kube-system:holdfast-scheduler"}
	w.schedulerAs(config, "config.yaml")
	w.pod("returns", staysAwayFrom("bad"), onlyOn("eligible"), bySecond)
	w.lands("returns", "bad")
	if _, found := w.get("returns").Annotations[memory.HostsAnnotation]; !found {
		t.Error("the scheduler may patch pods, so this test proves nothing")
	}
}
