//go:build envtest

package elasticjob

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
)

func (w *world) node(i int) string { return fmt.Sprintf("%s-node-%d", w.namespace, i) }

func (w *world) addNode(i int) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.node(i)}}
	w.ok(w.Create(w.Context(), node))
	w.setReady(i, corev1.ConditionTrue, time.Now())
}

func (w *world) setReady(i int, status corev1.ConditionStatus, since time.Time) {
	w.Helper()
	node := &corev1.Node{}
	w.ok(w.Get(w.Context(), client.ObjectKey{Name: w.node(i)}, node))
	before := node.DeepCopy()
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status, LastTransitionTime: metav1.NewTime(since)}}
	w.ok(w.Status().Patch(w.Context(), node, client.MergeFrom(before)))
}

// taint sets the taints of a node. It also removes the taint that the API server adds to nodes that are not ready.
func (w *world) taint(i int, taints ...corev1.Taint) {
	w.Helper()
	node := &corev1.Node{}
	w.ok(w.Get(w.Context(), client.ObjectKey{Name: w.node(i)}, node))
	before := node.DeepCopy()
	node.Spec.Taints = taints
	w.ok(w.Patch(w.Context(), node, client.MergeFrom(before)))
}

// playNodes acts as the scheduler and the kubelets of the namespace until ctx is done.
func (w *world) playNodes(ctx context.Context) {
	for n := 0; ctx.Err() == nil; n++ {
		var pods corev1.PodList
		if err := w.List(ctx, &pods, client.InNamespace(w.namespace)); err == nil {
			for i := range pods.Items {
				w.playPod(ctx, &pods.Items[i])
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (w *world) playPod(ctx context.Context, pod *corev1.Pod) {
	w.mu.Lock()
	held, dead := w.held[pod.Name], w.dead[pod.Spec.NodeName]
	w.mu.Unlock()
	switch {
	case dead || held && pod.Spec.NodeName == "":
	case pod.DeletionTimestamp != nil:
		_ = w.Delete(ctx, pod, client.GracePeriodSeconds(0), client.Preconditions{UID: ptr.To(pod.UID)})
	case pod.Spec.NodeName == "":
		_ = w.SubResource("binding").Create(ctx, pod, &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: w.pick(pod)}})
	case pod.Status.Phase == corev1.PodPending:
		before := pod.DeepCopy()
		pod.Status.Phase, pod.Status.PodIP = corev1.PodRunning, "10.0.0.1"
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		_ = w.Status().Patch(ctx, pod, client.MergeFrom(before))
	}
}

// pick returns the node with the worker's number, or another node if that one is lost.
func (w *world) pick(pod *corev1.Pod) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var index int
	_, _ = fmt.Sscanf(pod.Labels[v1alpha1.ReplicaIndexLabel], "%d", &index)
	for i := range 3 {
		if name := w.node((index + i) % 3); !w.dead[name] {
			return name
		}
	}
	return w.node(0)
}

func (w *world) hold(job string, indexes ...int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, i := range indexes {
		w.held[fmt.Sprintf("%s-worker-%d", job, i)] = true
	}
}

func (w *world) release(job string, index int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.held, fmt.Sprintf("%s-worker-%d", job, index))
}

func (w *world) kill(node int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dead[w.node(node)] = true
}

func (w *world) worker(job string, index int) *corev1.Pod {
	w.Helper()
	pod := &corev1.Pod{}
	w.ok(w.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: fmt.Sprintf("%s-worker-%d", job, index)}, pod))
	return pod
}

// end terminates a worker as its kubelet would.
func (w *world) end(job string, index int, code int32, changes ...func(*corev1.PodStatus)) types.UID {
	w.Helper()
	pod := w.worker(job, index)
	before := pod.DeepCopy()
	pod.Status.Phase = corev1.PodSucceeded
	if code != 0 {
		pod.Status.Phase = corev1.PodFailed
	}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: pod.Spec.Containers[0].Name, State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: code},
	}}}
	for _, change := range changes {
		change(&pod.Status)
	}
	w.ok(w.Status().Patch(w.Context(), pod, client.MergeFrom(before)))
	return pod.UID
}

func evicted(s *corev1.PodStatus) {
	s.Conditions = append(s.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI"})
}

func (w *world) create(job *v1alpha1.ElasticJob) *v1alpha1.ElasticJob {
	w.Helper()
	job.Namespace = w.namespace
	w.ok(w.Create(w.Context(), job))
	return job
}

func (w *world) get(name string) *v1alpha1.ElasticJob {
	w.Helper()
	job := &v1alpha1.ElasticJob{}
	w.ok(w.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, job))
	return job
}

// change changes a job's spec.
func (w *world) change(name string, change func(*v1alpha1.ElasticJobSpec)) {
	w.Helper()
	job := w.get(name)
	before := job.DeepCopy()
	change(&job.Spec)
	w.ok(w.Patch(w.Context(), job, client.MergeFrom(before)))
}

// reaches waits until the job has the given state and number of running workers.
func (w *world) reaches(name string, state v1alpha1.State, active int32) *v1alpha1.ElasticJob {
	w.Helper()
	var job *v1alpha1.ElasticJob
	w.eventually(func() string {
		job = w.get(name)
		if s := job.Status; s.State != state || s.ReplicaStatuses.Worker.Active != active || s.ObservedGeneration != job.Generation {
			return fmt.Sprintf("%s is %s with %d workers, not %s with %d: %s", name, s.State, s.ReplicaStatuses.Worker.Active, state, active, s.Message)
		}
		return ""
	})
	return job
}

func condition(job *v1alpha1.ElasticJob, kind v1alpha1.JobConditionType) v1alpha1.JobCondition {
	for _, c := range job.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return v1alpha1.JobCondition{}
}

// replaced waits until another pod of the worker is running.
func (w *world) replaced(job string, index int, old types.UID) *corev1.Pod {
	w.Helper()
	pod := &corev1.Pod{}
	w.eventually(func() string {
		err := w.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: fmt.Sprintf("%s-worker-%d", job, index)}, pod)
		if err != nil || pod.UID == old || pod.Status.Phase != corev1.PodRunning {
			return fmt.Sprintf("worker %d is not replaced (%v)", index, err)
		}
		return ""
	})
	return pod
}

func (w *world) podNames() []string {
	w.Helper()
	var pods corev1.PodList
	w.ok(w.List(w.Context(), &pods, client.InNamespace(w.namespace)))
	var names []string
	for _, pod := range pods.Items {
		names = append(names, pod.Name)
	}
	return names
}
