//go:build e2e && e2e_all

package appwrapper

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/e2e/suites"
)

const gpu = "nvidia.com/gpu"

// TestWithKueue uses Kueue's real manager for quota. There is enough quota for one workload at a time.
func TestWithKueue(t *testing.T) {
	if err := shared.Cluster.Kueue(t.Context(), t.Output(), "workload.codeflare.dev/appwrapper"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := shared.Cluster.StopKueue(context.Background()); err != nil {
			t.Error(err)
		}
	})
	for name, test := range map[string]func(*queued){
		"a workload that succeeds gives its quota to the next": succeeds,
		"a failing Job is reset, and fails in the end":         fails,
		"a node is marked EVICT":                               evicted,
		"a component is deleted":                               loses,
		"suspended in the middle of a reset":                   suspendedDuringReset,
		"a finalizer that blocks":                              blocked,
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			q := &queued{bench: b}
			q.makeQueue()
			test(q)
			q.check()
		})
	}
}

// queued is a namespace with a queue whose quota is checked continuously.
type queued struct {
	*bench
	mu       sync.Mutex
	breaches []string
	samples  int
	stop     context.CancelFunc
	done     chan struct{}
}

// makeQueue creates a queue with room for one worker.
func (q *queued) makeQueue() {
	q.Helper()
	suites.MakeQueue(q, k8s, suites.QueueOf(q.NS, suites.Quota{Resource: "cpu", Most: "100m"}, suites.Quota{Resource: gpu, Most: "1"})...)
	ctx, cancel := context.WithCancel(context.Background())
	q.stop, q.done = cancel, make(chan struct{})
	go q.watchQuota(ctx)
}

// watchQuota checks continuously that no pod runs without quota. It uses Kueue's record of the workload, because the
// sums in the ClusterQueue are updated a little later.
func (q *queued) watchQuota(ctx context.Context) {
	defer close(q.done)
	for ctx.Err() == nil {
		before, held, after := q.livePod(ctx), q.held(ctx), q.livePod(ctx)
		if before != "" && before == after && !held {
			q.mu.Lock()
			q.breaches = append(q.breaches, before+" exists without quota")
			q.mu.Unlock()
		}
		q.samples++
		time.Sleep(50 * time.Millisecond)
	}
}

// livePod returns the name of a pod that uses resources, or "".
func (q *queued) livePod(ctx context.Context) string {
	var pods corev1.PodList
	if err := k8s.List(ctx, &pods, client.InNamespace(q.NS)); err != nil {
		return ""
	}
	for _, pod := range pods.Items {
		if live(&pod) {
			return pod.Name
		}
	}
	return ""
}

// held reports whether a workload of the namespace holds quota. It returns true if that is unknown.
func (q *queued) held(ctx context.Context) bool {
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("kueue.x-k8s.io/v1beta2")
	list.SetKind("WorkloadList")
	if err := k8s.List(ctx, list, client.InNamespace(q.NS)); err != nil {
		return true
	}
	for _, workload := range list.Items {
		is := map[string]bool{}
		conditions, _, _ := unstructured.NestedSlice(workload.Object, "status", "conditions")
		for _, condition := range conditions {
			c := condition.(map[string]any)
			is[fmt.Sprint(c["type"])] = c["status"] == "True"
		}
		if is["QuotaReserved"] && !is["Finished"] {
			return true
		}
	}
	return false
}

// live reports whether a pod uses resources. A pod that has succeeded holds no quota, and is kept for its logs.
func live(pod *corev1.Pod) bool { return pod.Status.Phase != corev1.PodSucceeded }

// reserved returns the quota that Kueue's ClusterQueue reports as reserved, and the number of workloads that reserve
// it.
func (q *queued) reserved(ctx context.Context) (cpu string, workloads int64, err error) {
	queue := suites.KueueObject("ClusterQueue", q.NS, nil)
	if err := k8s.Get(ctx, client.ObjectKey{Name: q.NS}, queue); err != nil {
		return "", 0, err
	}
	workloads, _, _ = unstructured.NestedInt64(queue.Object, "status", "reservingWorkloads")
	flavors, _, _ := unstructured.NestedSlice(queue.Object, "status", "flavorsReservation")
	for _, flavor := range flavors {
		resources, _, _ := unstructured.NestedSlice(flavor.(map[string]any), "resources")
		for _, r := range resources {
			if m := r.(map[string]any); m["name"] == "cpu" {
				return fmt.Sprint(m["total"]), workloads, nil
			}
		}
	}
	return "", 0, errors.New("the ClusterQueue does not report reserved quota")
}

func (q *queued) awaitReserved(want string) {
	q.Helper()
	q.Until(want+" CPU are reserved", func(ctx context.Context) error {
		cpu, n, err := q.reserved(ctx)
		if err == nil && cpu != want {
			err = fmt.Errorf("%s CPU are reserved, by %d workloads", cpu, n)
		}
		return err
	})
}

// submit creates a workload in the queue.
func (q *queued) submit(aw *v1beta2.AppWrapper) {
	q.Helper()
	aw.Labels = map[string]string{v1beta2.QueueLabel: "queue"}
	q.create(aw)
}

// check fails the test if a pod ever ran without quota, and waits until all quota is returned. It stops watching before
// the AppWrappers are deleted, because Kueue removes the workload of a deleted AppWrapper immediately, even if its pods
// still exist.
func (q *queued) check() {
	q.Helper()
	q.stop()
	<-q.done
	q.Logf("the quota was checked %d times", q.samples)
	for _, breach := range q.breaches {
		q.Error(breach)
	}
	var list v1beta2.AppWrapperList
	q.OK(k8s.List(q.Context(), &list, client.InNamespace(q.NS)))
	for i := range list.Items {
		q.OK(k8s.Delete(q.Context(), &list.Items[i]))
	}
	q.awaitReserved("0")
	q.Until("no AppWrapper is left", func(ctx context.Context) error {
		if err := k8s.List(ctx, &list, client.InNamespace(q.NS)); err != nil || len(list.Items) > 0 {
			return fmt.Errorf("%d (%v)", len(list.Items), err)
		}
		return nil
	})
}

func succeeds(q *queued) {
	q.submit(q.worker("first"))
	q.awaitReady("first")
	pods, err := podsOf(q.Context(), q.NS, "first")
	q.OK(err)
	q.submit(q.worker("second", endsAfter(1)))
	q.awaitReserved("100m")
	if aw := q.get("second"); !aw.Spec.Suspend || aw.Status.Phase != v1beta2.Suspended {
		q.Until("the second waits", func(context.Context) error {
			if p := q.get("second").Status.Phase; p != v1beta2.Suspended {
				return fmt.Errorf("it is %q", p)
			}
			return nil
		})
	}
	q.finish(&pods[0])
	q.awaitPhase("first", v1beta2.Succeeded)
	q.awaitPhase("second", v1beta2.Succeeded)
	q.awaitReserved("0")
}

// finish makes a worker succeed once it has started.
func (q *queued) finish(pod *corev1.Pod) {
	q.Helper()
	q.Until("the program of "+pod.Name+" has begun", func(ctx context.Context) error {
		return shared.HasBegun(ctx, framework.Worker{Namespace: pod.Namespace, Pod: pod.Name})
	})
	_, err := shared.SignalContainer(q.Context(), string(pod.UID), "worker", unix.SIGUSR2)
	q.OK(err)
}

func fails(q *queued) {
	q.submit(q.worker("bad", failsAfter(15)))
	q.awaitReady("bad")
	q.submit(q.worker("next", endsAfter(1)))
	aw := q.awaitPhase("bad", v1beta2.Failed)
	if aw.Status.Retries != 2 || len(aw.Status.Attempts) != 3 {
		q.Errorf("%d resets, attempts %+v", aw.Status.Retries, aw.Status.Attempts)
	}
	q.awaitPhase("next", v1beta2.Succeeded)
	bad, next := q.get("bad"), q.get("next")
	failed := meta.FindStatusCondition(bad.Status.Conditions, string(v1beta2.QuotaReserved))
	started := next.Status.Attempts[0].StartTime
	if started.Before(&failed.LastTransitionTime) {
		q.Errorf("the next workload began at %s, before the failed one had released its quota at %s", started, failed.LastTransitionTime)
	}
	q.replace(bad)
	q.awaitReady("bad")
	if aw := q.get("bad"); aw.UID == bad.UID || aw.Status.Retries != 0 {
		q.Errorf("the new AppWrapper has %d resets, or the UID of the old one", aw.Status.Retries)
	}
}

// replace does what `kubectl replace --force` does with an object that was read from the API server.
func (q *queued) replace(aw *v1beta2.AppWrapper) {
	q.Helper()
	q.OK(k8s.Delete(q.Context(), aw))
	q.Until("the old one is gone", func(ctx context.Context) error {
		if err := k8s.Get(ctx, client.ObjectKeyFromObject(aw), &v1beta2.AppWrapper{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it still exists (%v)", err)
		}
		return nil
	})
	again := aw.DeepCopy()
	again.ResourceVersion = ""
	q.create(again)
}

// evicted tests a reset because of a bad node. Both nodes have a GPU. The workload leaves the node that is marked as
// bad, and does not return to it.
func evicted(q *queued) {
	for _, name := range shared.Cluster.NodeNames() {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		q.OK(k8s.Get(q.Context(), client.ObjectKeyFromObject(node), node))
		before := node.DeepCopy()
		node.Status.Capacity[gpu], node.Status.Allocatable[gpu] = resource.MustParse("1"), resource.MustParse("1")
		q.OK(k8s.Status().Patch(q.Context(), node, client.MergeFrom(before)))
	}
	q.submit(q.worker("train", needsGPU))
	q.awaitReady("train")
	pods, err := podsOf(q.Context(), q.NS, "train")
	q.OK(err)
	bad := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: pods[0].Spec.NodeName}}
	const label = "autopilot.ibm.com/gpuhealth"
	begin := time.Now()
	patch(q.bench, bad, func(n *corev1.Node) { n.Labels[label] = "EVICT" })
	q.Until("the workload leaves", func(context.Context) error {
		if aw := q.get("train"); aw.Status.Evacuations != 1 {
			return fmt.Errorf("phase %s, conditions %+v", aw.Status.Phase, aw.Status.Conditions)
		}
		return nil
	})
	q.Logf("evacuation decided %s after the label", time.Since(begin).Round(time.Millisecond))
	// The health checks overwrite the label with another value. The workload still does not return.
	patch(q.bench, bad, func(n *corev1.Node) { n.Labels[label] = "PASS" })
	q.Until("it runs elsewhere", func(ctx context.Context) error {
		now, err := podsOf(ctx, q.NS, "train")
		if err != nil || len(now) != 1 || now[0].UID == pods[0].UID || now[0].Status.Phase != corev1.PodRunning {
			return fmt.Errorf("%d pods (%v)", len(now), err)
		}
		if now[0].Spec.NodeName == bad.Name {
			q.Errorf("the pod is on %s again", bad.Name)
		}
		return nil
	})
	if aw := q.get("train"); aw.Status.Retries != 0 {
		q.Errorf("%d resets are counted", aw.Status.Retries)
	}
	patch(q.bench, bad, func(n *corev1.Node) { delete(n.Labels, label) })
}

func loses(q *queued) {
	q.submit(q.worker("lost"))
	q.awaitReady("lost")
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: q.NS, Name: "lost"}}
	q.OK(k8s.Delete(q.Context(), job, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	aw := q.awaitPhase("lost", v1beta2.Failed)
	if aw.Status.Retries != 0 {
		q.Errorf("%d resets", aw.Status.Retries)
	}
	q.awaitReserved("0")
}

func suspendedDuringReset(q *queued) {
	aw := q.worker("paused", failsAfter(2))
	aw.Annotations[v1beta2.RetryPausePeriodKey] = "10m"
	q.submit(aw)
	q.awaitPhase("paused", v1beta2.Resetting)
	q.awaitCondition("paused", v1beta2.ResourcesDeployed, metav1.ConditionFalse)
	q.awaitReserved("100m") // still reserved
	q.drain()
	q.awaitPhase("paused", v1beta2.Suspended)
	q.awaitReserved("0")
}

// drain makes Kueue evict all workloads of the queue. Deactivating a workload would not do: Kueue subtracts its quota
// immediately, before its pods are gone.
func (q *queued) drain() {
	q.Helper()
	patch(q.bench, suites.KueueObject("ClusterQueue", q.NS, nil), func(queue *unstructured.Unstructured) {
		q.OK(unstructured.SetNestedField(queue.Object, "HoldAndDrain", "spec", "stopPolicy"))
	})
}

func blocked(q *queued) {
	aw := q.worker("stuck")
	aw.Annotations[v1beta2.ForcefulDeletionGracePeriodKey] = "3s"
	q.submit(aw)
	q.awaitReady("stuck")
	pods, err := podsOf(q.Context(), q.NS, "stuck")
	q.OK(err)
	const finalizer = "e2e.holdfast.dev/keep"
	patch(q.bench, &pods[0], func(p *corev1.Pod) { p.Finalizers = append(p.Finalizers, finalizer) })
	q.drain()
	q.Until("the condition names what blocks", func(context.Context) error {
		c := meta.FindStatusCondition(q.get("stuck").Status.Conditions, string(v1beta2.DeletingResources))
		if c == nil || !strings.Contains(c.Message, finalizer) {
			return fmt.Errorf("it is %+v", c)
		}
		return nil
	})
	if cpu, _, err := q.reserved(q.Context()); err != nil || cpu != "100m" {
		q.Errorf("%s CPU are reserved while a pod is left (%v)", cpu, err)
	}
	patch(q.bench, &pods[0], func(p *corev1.Pod) { p.Finalizers = nil })
	q.awaitPhase("stuck", v1beta2.Suspended)
	q.awaitReserved("0")
}
