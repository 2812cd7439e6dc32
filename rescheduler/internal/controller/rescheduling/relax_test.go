package rescheduling

import (
	"context"
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/internal/placement"
	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
	"github.com/holdfast-project/holdfast/rescheduler/internal/testing/pods"
	"github.com/holdfast-project/holdfast/shared/bootstrap/requeue"
)

// waits changes the pod to one that needs one CPU, has been unschedulable for an hour, and avoids node a by node affinity.
func waits(p *corev1.Pod) {
	p.Spec.NodeName, p.Status.Phase = "", corev1.PodPending
	p.Annotations[memory.HostsAnnotation] = `["a"]`
	p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: placement.Avoid(nil, []string{"a"}),
	}}
	p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	p.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, LastTransitionTime: metav1.NewTime(noon.Add(-time.Hour)),
	}}
}

func withCPUs(n int) func(*corev1.Node) {
	return func(node *corev1.Node) {
		node.Status.Allocatable = corev1.ResourceList{
			corev1.ResourceCPU: *resource.NewQuantity(int64(n), resource.DecimalSI), corev1.ResourcePods: resource.MustParse("110"),
		}
	}
}

// evicting implements the Eviction API, which the fake client lacks. It deletes the pod if its UID matches the precondition.
func evicting(evicted *[]string) interceptor.Funcs {
	return interceptor.Funcs{SubResourceCreate: func(ctx context.Context, c client.Client, _ string, o, sub client.Object, _ ...client.SubResourceCreateOption) error {
		preconditions := sub.(*policyv1.Eviction).DeleteOptions.Preconditions
		if preconditions == nil || preconditions.UID == nil {
			return fmt.Errorf("an eviction without a UID")
		}
		*evicted = append(*evicted, o.GetName())
		return c.Delete(ctx, o, &client.DeleteOptions{Preconditions: preconditions})
	}}
}

// A Deployment was scaled up in a full cluster. Its pods are replaced one by one, as fast as the limits allow, and only if there is
// capacity for them.
func TestPendingPodsAreReplacedWithinLimits(t *testing.T) {
	const waiting = 40
	for name, c := range map[string]struct {
		limit settings.Rate
		cpus  int
		want  int
	}{
		"one per hour":                     {settings.Rate{Burst: 1, Every: metav1.Duration{Duration: time.Hour}}, 100, 1},
		"as many as the node has room for": {settings.Rate{}, 7, 7},
		"none on a full node":              {settings.Rate{}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			config := settings.Default()
			config.Limits = settings.Limits{Workload: c.limit}
			owner := workload("w")
			owner.Annotations = avoiding("a").Annotations(noon)
			owner.Annotations[memory.RetriesAnnotation] = "3"
			objects := []client.Object{stored(owner), ready("a", withCPUs(c.cpus)), ready("b", withCPUs(0))}
			for i := range waiting {
				objects = append(objects, pods.Make(fmt.Sprint("p", i), noon.Add(-time.Hour)).Change(owned(owner)).Change(waits).Obj())
			}
			var evicted []string
			w := newWorld(t, config, evicting(&evicted), objects...)
			for range 3 {
				for i := range waiting {
					if pod, there := w.pod(fmt.Sprint("p", i)); there {
						_, err := w.Reconcile(t.Context(), &pod)
						w.ok(err)
					}
				}
			}
			if len(evicted) != c.want {
				t.Errorf("%d pods were replaced, want %d", len(evicted), c.want)
			}
			if relaxed := !w.remembers(owner).RelaxedUntil.IsZero(); relaxed != (c.want > 0) {
				t.Errorf("exclusions are relaxed: %t", relaxed)
			}
		})
	}
}

func TestPodWaitsForOtherNodesFirst(t *testing.T) {
	owner := workload("w")
	owner.Annotations = map[string]string{memory.RetriesAnnotation: "3"}
	pod := pods.Make("p", noon.Add(-time.Hour)).Change(owned(owner)).Change(waits).Obj()
	pod.Status.Conditions[0].LastTransitionTime = metav1.NewTime(noon.Add(-4 * time.Minute))
	var evicted []string
	w := newWorld(t, settings.Default(), evicting(&evicted), stored(owner), pod, ready("a", withCPUs(9)))
	result, err := w.Reconcile(t.Context(), pod)
	w.ok(err)
	if len(evicted) != 0 || result.RequeueAfter != time.Minute {
		t.Errorf("evicted %v, requeued after %s", evicted, result.RequeueAfter)
	}
	w.Reconciler.Clock.(*testclock.FakePassiveClock).SetTime(noon.Add(time.Minute))
	_, err = w.Reconcile(t.Context(), pod)
	w.ok(err)
	if len(evicted) != 1 {
		t.Errorf("evicted %v after five minutes", evicted)
	}
}

// A Job fails when it has counted more failures than its backoffLimit. Replacing a pod that is only pending must not count as a failure.
func TestJobIsNotChargedForPendingPod(t *testing.T) {
	rule := func(action batchv1.PodFailurePolicyAction, condition corev1.PodConditionType) batchv1.PodFailurePolicyRule {
		return batchv1.PodFailurePolicyRule{Action: action, OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: condition, Status: corev1.ConditionTrue}}}
	}
	for name, c := range map[string]struct {
		policy *batchv1.PodFailurePolicy
		want   int
	}{
		"Job that counts every failure": {nil, 0},
		"Job that ignores disruptions":  {&batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{rule(batchv1.PodFailurePolicyActionIgnore, corev1.DisruptionTarget)}}, 1},
		"Job that ignores another condition": {
			&batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{rule(batchv1.PodFailurePolicyActionIgnore, "Other")}}, 0},
		"Job that fails on disruptions first": {&batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{
			rule(batchv1.PodFailurePolicyActionFailJob, corev1.DisruptionTarget), rule(batchv1.PodFailurePolicyActionIgnore, corev1.DisruptionTarget)}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			owner := workload("j")
			owner.SetGroupVersionKind(batchv1.SchemeGroupVersion.WithKind("Job"))
			owner.Annotations = map[string]string{memory.RetriesAnnotation: "3"}
			job := &batchv1.Job{ObjectMeta: *owner.ObjectMeta.DeepCopy(), Spec: batchv1.JobSpec{PodFailurePolicy: c.policy}}
			pod := pods.Make("p", noon.Add(-time.Hour)).Change(owned(owner)).Change(waits).Obj()
			var evicted []string
			w := newWorld(t, settings.Default(), evicting(&evicted), job, pod, ready("a", withCPUs(9)))
			w.known[owner.UID] = owner
			w.ok(w.Client.Get(t.Context(), client.ObjectKeyFromObject(job), job))
			owner.ResourceVersion = job.ResourceVersion
			_, err := w.Reconcile(t.Context(), pod)
			w.ok(err)
			if len(evicted) != c.want {
				t.Errorf("evicted %v", evicted)
			}
			if w.heard["*v1.Pod"] != 1 {
				t.Errorf("events: %v", w.heard)
			}
		})
	}
}

// The API server supports one PodDisruptionBudget for a pod. Retrying does not help until the user has removed the others.
func TestSeveralPodDisruptionBudgetsAreReportedOnce(t *testing.T) {
	owner := workload("w")
	owner.Annotations = map[string]string{memory.RetriesAnnotation: "3"}
	pod := pods.Make("p", noon.Add(-time.Hour)).Change(owned(owner)).Loops("OOMKilled", 137, 5, noon.Add(-time.Minute)).Obj()
	tried := 0
	refused := &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: 500, Message: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
	}}
	w := newWorld(t, settings.Default(), interceptor.Funcs{SubResourceCreate: func(context.Context, client.Client, string, client.Object, client.Object, ...client.SubResourceCreateOption) error {
		tried++
		return refused
	}}, stored(owner), pod, ready("a"), ready("b"))
	for range 3 {
		result, err := w.Reconcile(t.Context(), pod)
		w.ok(err)
		if result.RequeueAfter != 0 {
			t.Errorf("requeued after %s", result.RequeueAfter)
		}
	}
	if tried == 0 || w.heard["*v1.Pod"] != 1 {
		t.Errorf("tried %d times, events: %v", tried, w.heard)
	}
}

// Before the eviction, another pod may get the same name. That pod must not be evicted.
func TestEvictionHasUIDPrecondition(t *testing.T) {
	owner := workload("w")
	owner.Annotations = map[string]string{memory.RetriesAnnotation: "3"}
	seen := pods.Make("w-0", noon.Add(-time.Hour)).Change(owned(owner)).Loops("OOMKilled", 137, 5, noon.Add(-time.Minute)).Obj()
	there := pods.Make("w-0", noon).Change(owned(owner)).Change(func(p *corev1.Pod) { p.UID = "uid-of-its-replacement" }).Obj()
	var named []metav1.Preconditions
	w := newWorld(t, settings.Default(), interceptor.Funcs{SubResourceCreate: func(_ context.Context, _ client.Client, _ string, _, sub client.Object, _ ...client.SubResourceCreateOption) error {
		options := sub.(*policyv1.Eviction).DeleteOptions
		if options == nil || options.Preconditions == nil || options.Preconditions.UID == nil || *options.Preconditions.UID != there.UID {
			named = append(named, *options.Preconditions)
			return apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "w-0", fmt.Errorf("another UID"))
		}
		t.Error("the replacement was evicted")
		return nil
	}}, stored(owner), there, ready("a"), ready("b"))
	_, err := w.Reconcile(t.Context(), seen)
	w.ok(err)
	if len(named) != 1 || *named[0].UID != seen.UID {
		t.Errorf("evicted by %v", named)
	}
}

// Since the owner was read, another program has modified it, such as a replica that still considers itself the leader. The pod must not be
// moved based on a history that was not written.
func TestMemoryIsWrittenOnlyToObservedVersion(t *testing.T) {
	owner := workload("w")
	owner.Annotations = map[string]string{memory.RetriesAnnotation: "3"}
	pod := pods.Make("p", noon.Add(-time.Hour)).Change(owned(owner)).Loops("OOMKilled", 137, 5, noon.Add(-time.Minute)).Obj()
	var evicted []string
	w := newWorld(t, settings.Default(), evicting(&evicted), stored(owner), pod, ready("a"), ready("b"))
	var rc corev1.ReplicationController
	w.ok(w.Client.Get(t.Context(), client.ObjectKeyFromObject(owner), &rc))
	theirs := memory.Memory{Times: 2, Entries: avoiding("z").Entries}
	for key, value := range theirs.Annotations(noon) {
		rc.Annotations[key] = value
	}
	w.ok(w.Client.Update(t.Context(), &rc))
	result, err := w.Reconcile(t.Context(), pod)
	w.ok(err)
	if m := w.remembers(owner); m.Times != 2 || len(evicted) != 0 || result.RequeueAfter != requeue.Stale {
		t.Errorf("%d moves are charged, evicted %v, requeued after %s", m.Times, evicted, result.RequeueAfter)
	}
}

// A dry run writes only events.
func TestDryRunWritesNothing(t *testing.T) {
	config := blaming()
	config.DryRun, config.BarePods.Recreate = true, true
	owner := workload("w")
	owner.Annotations = map[string]string{memory.RetriesAnnotation: "3"}
	bare := func(p *corev1.Pod) { p.Annotations[memory.RetriesAnnotation] = "3" }
	all := []*corev1.Pod{
		pods.Make("loops", noon.Add(-time.Hour)).Change(owned(owner)).Loops("OOMKilled", 137, 5, noon.Add(-time.Minute)).Obj(),
		pods.Make("rejected", noon).Change(owned(owner)).Rejected("UnexpectedAdmissionError", "").Obj(),
		pods.Make("bad-spec", noon).Change(owned(owner)).Waiting("InvalidImageName", 0).Obj(),
		pods.Make("waits", noon.Add(-time.Hour)).Change(owned(owner)).Change(waits).Obj(),
		pods.Make("well", noon.Add(-48*time.Hour)).Change(owned(owner)).Condition(corev1.PodReady, corev1.ConditionTrue, "", noon.Add(-47*time.Hour)).Obj(),
		pods.Make("bare", noon.Add(-time.Hour)).Change(bare).Loops("OOMKilled", 137, 5, noon.Add(-time.Minute)).Obj(),
	}
	refuse := func(o client.Object) error {
		t.Errorf("%s was written", o.GetName())
		return nil
	}
	objects := []client.Object{stored(owner), ready("a", withCPUs(9)), ready("b"), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}}
	for _, pod := range all {
		objects = append(objects, pod)
	}
	w := newWorld(t, config, interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
			return refuse(o)
		},
		Delete: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.DeleteOption) error {
			return refuse(o)
		},
		Patch: func(_ context.Context, _ client.WithWatch, o client.Object, _ client.Patch, _ ...client.PatchOption) error {
			return refuse(o)
		},
		SubResourceCreate: func(_ context.Context, _ client.Client, _ string, o, _ client.Object, _ ...client.SubResourceCreateOption) error {
			return refuse(o)
		},
	}, objects...)
	w.accuse("a")
	for range 2 {
		for _, pod := range all {
			_, err := w.Reconcile(t.Context(), pod.DeepCopy())
			w.ok(err)
		}
		w.Sweep(t.Context())
	}
	if w.heard["*v1.Pod"] == 0 {
		t.Error("no event was sent")
	}
}

// A controller updates the status of its workload when a pod fails, and a StatefulSet then deletes the pod, so there is no time to retry
// later.
func TestMemoryIsWrittenAfterStatusChange(t *testing.T) {
	owner := workload("w")
	owner.Annotations = map[string]string{memory.RetriesAnnotation: "3"}
	pod := pods.Make("p", noon).Change(owned(owner)).Rejected("UnexpectedAdmissionError", "").Obj()
	w := newWorld(t, settings.Default(), interceptor.Funcs{}, stored(owner), pod, ready("a"), ready("b"))
	var rc corev1.ReplicationController
	w.ok(w.Client.Get(t.Context(), client.ObjectKeyFromObject(owner), &rc))
	rc.Status.Replicas = 1
	w.ok(w.Client.Update(t.Context(), &rc))
	_, err := w.Reconcile(t.Context(), pod)
	w.ok(err)
	if m := w.remembers(owner); m.Times != 1 {
		t.Errorf("the memory is %+v", m)
	}
}
