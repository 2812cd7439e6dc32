package elasticjob

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/shared/bootstrap/podcache"
	"github.com/holdfast-project/holdfast/shared/bootstrap/requeue"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
)

// ownerIndex indexes pods and services by the UID of their ElasticJob.
const ownerIndex = "holdfast.owner"

// CacheOptions limits the cache to the pods and services of ElasticJobs, and each object to the fields that the controller reads.
func CacheOptions() cache.Options {
	ofElasticJobs := labels.SelectorFromSet(labels.Set{v1alpha1.GroupNameLabel: v1alpha1.GroupName})
	return cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}:     {Label: ofElasticJobs, Transform: podcache.Each(stripPod)},
			&corev1.Service{}: {Label: ofElasticJobs, Transform: podcache.Each(stripService)},
			&corev1.Node{}:    {Transform: podcache.Each(podcache.StripNode)},
		},
	}
}

// AddIndexes adds the cache indexes that the reconciler needs.
func AddIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	byOwner := func(o client.Object) []string {
		if ref := requeue.Controller(o, kind); ref != nil {
			return []string{string(ref.UID)}
		}
		return nil
	}
	for _, owned := range []client.Object{&corev1.Pod{}, &corev1.Service{}} {
		if err := indexer.IndexField(ctx, owned, ownerIndex, byOwner); err != nil {
			return err
		}
	}
	return podcache.IndexByNode(ctx, indexer)
}

func stripPod(full *corev1.Pod) *corev1.Pod {
	pod := &corev1.Pod{TypeMeta: full.TypeMeta, ObjectMeta: *stripMeta(&full.ObjectMeta)}
	pod.Spec.NodeName, pod.Spec.Tolerations = full.Spec.NodeName, full.Spec.Tolerations
	if full.Labels[v1alpha1.ReplicaTypeLabel] == v1alpha1.ReplicaTypeRendezvous {
		for _, c := range full.Spec.Containers {
			pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: c.Name, Args: c.Args})
		}
	}
	pod.Status = corev1.PodStatus{
		Phase: full.Status.Phase, Reason: full.Status.Reason, PodIP: full.Status.PodIP,
		ContainerStatuses:     stripStatuses(full.Status.ContainerStatuses),
		InitContainerStatuses: stripStatuses(full.Status.InitContainerStatuses),
	}
	if full.Status.Phase == corev1.PodFailed { // the status shows why a pod was evicted
		pod.Status.Message = full.Status.Message
	}
	for _, c := range full.Status.Conditions {
		if c.Type == corev1.PodReady || c.Type == corev1.DisruptionTarget {
			pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: c.Type, Status: c.Status, Reason: c.Reason})
		}
	}
	return pod
}

func stripMeta(m *metav1.ObjectMeta) *metav1.ObjectMeta {
	kept := *m
	kept.ManagedFields, kept.Annotations = nil, nil
	if value, supervised := m.Annotations[epoch.Annotation]; supervised {
		kept.Annotations = map[string]string{epoch.Annotation: value}
	}
	return &kept
}

// stripStatuses keeps only the restart counts, the start times and the termination states of containers.
func stripStatuses(statuses []corev1.ContainerStatus) []corev1.ContainerStatus {
	var kept []corev1.ContainerStatus
	for _, s := range statuses {
		k := corev1.ContainerStatus{Name: s.Name, RestartCount: s.RestartCount, State: corev1.ContainerState{Running: s.State.Running}}
		if t := s.State.Terminated; t != nil {
			k.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: t.ExitCode, Reason: t.Reason, StartedAt: t.StartedAt, FinishedAt: t.FinishedAt}
		}
		kept = append(kept, k)
	}
	return kept
}

func stripService(full *corev1.Service) *corev1.Service {
	return &corev1.Service{TypeMeta: full.TypeMeta, ObjectMeta: *stripMeta(&full.ObjectMeta)}
}

// debounce delays the reconcile after a pod event, so that pods that start or fail at the same time require only one reconcile.
const debounce = 50 * time.Millisecond

// onEvents calls enqueue when an object is created or deleted, or when a field that the policy reads changes.
func onEvents[T client.Object](
	enqueue func(context.Context, requeue.Queue, T), changed func(before, after T) bool,
) handler.TypedEventHandler[T, reconcile.Request] {
	return handler.TypedFuncs[T, reconcile.Request]{
		CreateFunc: func(ctx context.Context, e event.TypedCreateEvent[T], q requeue.Queue) { enqueue(ctx, q, e.Object) },
		DeleteFunc: func(ctx context.Context, e event.TypedDeleteEvent[T], q requeue.Queue) { enqueue(ctx, q, e.Object) },
		UpdateFunc: func(ctx context.Context, e event.TypedUpdateEvent[T], q requeue.Queue) {
			if changed(e.ObjectOld, e.ObjectNew) {
				enqueue(ctx, q, e.ObjectNew)
			}
		},
	}
}

// enqueue enqueues the job that controls an object.
func enqueue[T client.Object](_ context.Context, q requeue.Queue, object T) {
	requeue.AddController(q, object, kind, debounce)
}

func podChanged(before, after *corev1.Pod) bool {
	return before.UID != after.UID || before.Spec.NodeName != after.Spec.NodeName ||
		before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() || !equality.Semantic.DeepEqual(before.Status, after.Status)
}

func nodeChanged(before, after *corev1.Node) bool {
	return before.Spec.Unschedulable != after.Spec.Unschedulable || !equality.Semantic.DeepEqual(before.Spec.Taints, after.Spec.Taints) ||
		!equality.Semantic.DeepEqual(before.Status.Conditions, after.Status.Conditions)
}

// enqueueNode enqueues the jobs that have pods on a node.
func (r *Reconciler) enqueueNode(ctx context.Context, q requeue.Queue, node *corev1.Node) {
	var pods corev1.PodList
	if err := r.Client.List(ctx, &pods, client.MatchingFields{podcache.NodeIndex: node.Name}, client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "Failed to list the pods of a node, not reconciling their jobs", "node", node.Name)
		return
	}
	for i := range pods.Items {
		enqueue(ctx, q, &pods.Items[i])
	}
}
