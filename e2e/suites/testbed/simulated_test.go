//go:build e2e

package testbed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/e2e/fakes/kubelet"
)

// size returns the number of nodes and of pods: HOLDFAST_SIMULATED_NODES, or 200.
func size(t *testing.T) int {
	value, ok := os.LookupEnv("HOLDFAST_SIMULATED_NODES")
	if !ok {
		return 200
	}
	n, err := strconv.Atoi(value)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestSimulatedNodesRunJobs(t *testing.T) {
	n := size(t)
	ns := namespace(t, "simulated")
	begin := time.Now()
	options := kubelet.Options{Name: "e2e", Nodes: n, Pools: 4}
	simulation, err := cluster.Simulate(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removeSimulation(t, simulation) })
	t.Logf("%d nodes ready after %.1f s", n, time.Since(begin).Seconds())

	job := gpuJob("train", n)
	begin = time.Now()
	create(t, ns, job)
	until(t, "all pods are ready", func(ctx context.Context) error { return count(ctx, ns, n, ready) })
	t.Logf("%d pods ready after %.1f s", n, time.Since(begin).Seconds())
	eachOnItsNode(t, ns, n)

	pod := podsOf(t, ns)[0]
	t.Run("a container that exits is restarted in place", func(t *testing.T) {
		restart(t, simulation, pod, 1)
	})
	t.Run("another process takes the nodes over", func(t *testing.T) {
		simulation.Close()
		if simulation, err = cluster.Simulate(t.Context(), options); err != nil {
			t.Fatal(err)
		}
		restart(t, simulation, pod, 2)
		until(t, "all pods are still ready", func(ctx context.Context) error { return count(ctx, ns, n, ready) })
	})
	t.Run("the pods of a deleted Job are removed", func(t *testing.T) {
		begin := time.Now()
		background := metav1.DeletePropagationBackground
		if err := client.BatchV1().Jobs(ns).Delete(t.Context(), job.Name, metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
			t.Fatal(err)
		}
		all := func(*corev1.Pod) bool { return true }
		until(t, "no pod is left", func(ctx context.Context) error { return count(ctx, ns, 0, all) })
		t.Logf("%d pods gone after %.1f s", n, time.Since(begin).Seconds())
	})
	t.Run("a Job whose pods succeed is complete", func(t *testing.T) {
		short := gpuJob("short", min(n, 20))
		short.Spec.Template.Annotations = map[string]string{kubelet.SucceedAfter: "1s"}
		create(t, ns, short)
		until(t, "the Job is complete", func(ctx context.Context) error {
			got, err := client.BatchV1().Jobs(ns).Get(ctx, short.Name, metav1.GetOptions{})
			if err == nil && got.Status.CompletionTime == nil {
				err = fmt.Errorf("%d pods have succeeded", got.Status.Succeeded)
			}
			return err
		})
	})
	if repeated, err := simulation.Repeated(); refused(err) || repeated > int64(n/10) {
		t.Errorf("%d API calls had to be repeated, the last for: %v", repeated, err)
	}
}

// refused reports whether the API server rejected the call, as opposed to a busy API server that did not respond in
// time.
func refused(err error) bool {
	for _, is := range []func(error) bool{
		apierrors.IsBadRequest, apierrors.IsConflict, apierrors.IsForbidden, apierrors.IsInvalid, apierrors.IsNotFound,
	} {
		if is(err) {
			return true
		}
	}
	return false
}

// restart makes a container exit, and waits until the same pod is ready again and the restart is counted.
func restart(t *testing.T, simulation *kubelet.Nodes, pod corev1.Pod, want int32) {
	t.Helper()
	key := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
	// A simulation that has just started may not know the pod yet.
	until(t, "the container exits", func(context.Context) error { return simulation.Exit(key, "main", 1) })
	until(t, "its restart is counted", func(ctx context.Context) error {
		got, err := client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
		if err == nil && (got.UID != pod.UID || got.Status.ContainerStatuses[0].RestartCount != want || !ready(got)) {
			err = fmt.Errorf("it is %s with %d restarts", got.UID, got.Status.ContainerStatuses[0].RestartCount)
		}
		return err
	})
}

// gpuJob returns a Job with one pod for each simulated node, which uses all of the node's GPUs.
func gpuJob(name string, pods int) *batchv1.Job {
	gpus := corev1.ResourceList{kubelet.GPU: resource.MustParse("8")}
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: batchv1.JobSpec{
			Parallelism:    ptr.To(int32(pods)),
			Completions:    ptr.To(int32(pods)),
			CompletionMode: ptr.To(batchv1.IndexedCompletion),
			BackoffLimit:   ptr.To[int32](1 << 30),
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyOnFailure,
				NodeSelector:  map[string]string{kubelet.TypeLabel: kubelet.Type},
				Tolerations:   []corev1.Toleration{kubelet.Toleration()},
				Containers: []corev1.Container{{
					Name: "main", Image: "none", Resources: corev1.ResourceRequirements{Limits: gpus},
				}},
			}},
		},
	}
}

func create(t *testing.T, namespace string, job *batchv1.Job) {
	t.Helper()
	if _, err := client.BatchV1().Jobs(namespace).Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func podsOf(t *testing.T, namespace string) []corev1.Pod {
	t.Helper()
	list, err := client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

func eachOnItsNode(t *testing.T, namespace string, n int) {
	t.Helper()
	nodes := map[string]bool{}
	for _, pod := range podsOf(t, namespace) {
		nodes[pod.Spec.NodeName] = true
	}
	if len(nodes) != n {
		t.Errorf("the pods are on %d nodes, want one on each of %d", len(nodes), n)
	}
}

func removeSimulation(t *testing.T, simulation *kubelet.Nodes) {
	ctx := context.Background()
	if err := simulation.Remove(ctx); err != nil {
		t.Error(err)
	}
	selector := metav1.ListOptions{LabelSelector: kubelet.NameLabel + "=e2e"}
	list, err := client.CoreV1().Nodes().List(ctx, selector)
	if err == nil && len(list.Items) > 0 {
		err = errors.New("simulated nodes are left")
	}
	if err != nil {
		t.Error(err)
	}
}
