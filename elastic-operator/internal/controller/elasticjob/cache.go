package elasticjob

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
)

const (
	// ownerIndex indexes pods and services by the UID of their ElasticJob.
	ownerIndex = "holdfast.owner"
	// nodeIndex indexes pods by their node.
	nodeIndex = "holdfast.node"
)

// CacheOptions limits the cache to the pods and services of ElasticJobs, and all objects to the fields that the controller reads.
func CacheOptions() cache.Options {
	ofElasticJobs := labels.SelectorFromSet(labels.Set{v1alpha1.GroupNameLabel: v1alpha1.GroupName})
	return cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}:     {Label: ofElasticJobs, Transform: stripPod},
			&corev1.Service{}: {Label: ofElasticJobs, Transform: stripService},
			&corev1.Node{}:    {Transform: stripNode},
		},
	}
}

// AddIndexes adds the cache indexes that the reconciler needs.
func AddIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	byOwner := func(o client.Object) []string {
		if uid := owner(o); uid != "" {
			return []string{string(uid)}
		}
		return nil
	}
	for _, kind := range []client.Object{&corev1.Pod{}, &corev1.Service{}} {
		if err := indexer.IndexField(ctx, kind, ownerIndex, byOwner); err != nil {
			return err
		}
	}
	return indexer.IndexField(ctx, &corev1.Pod{}, nodeIndex, func(o client.Object) []string {
		if node := o.(*corev1.Pod).Spec.NodeName; node != "" {
			return []string{node}
		}
		return nil
	})
}

func stripPod(o any) (any, error) {
	full, ok := o.(*corev1.Pod)
	if !ok {
		return o, nil
	}
	pod := &corev1.Pod{TypeMeta: full.TypeMeta, ObjectMeta: *stripMeta(&full.ObjectMeta)}
	pod.Spec.NodeName, pod.Spec.Tolerations = full.Spec.NodeName, full.Spec.Tolerations
	isServer := full.Labels[v1alpha1.ReplicaTypeLabel] == v1alpha1.ReplicaTypeRendezvous
	if isServer {
		for _, c := range full.Spec.Containers {
			pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: c.Name, Args: c.Args})
		}
	}
	pod.Status = corev1.PodStatus{
		Phase: full.Status.Phase, Reason: full.Status.Reason, PodIP: full.Status.PodIP,
		ContainerStatuses:     stripStatuses(full.Status.ContainerStatuses, isServer),
		InitContainerStatuses: stripStatuses(full.Status.InitContainerStatuses, isServer),
	}
	if full.Status.Phase == corev1.PodFailed { // it shows why a pod was evicted
		pod.Status.Message = full.Status.Message
	}
	for _, c := range full.Status.Conditions {
		if c.Type == corev1.PodReady || c.Type == corev1.DisruptionTarget {
			pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: c.Type, Status: c.Status, Reason: c.Reason})
		}
	}
	return pod, nil
}

func stripMeta(m *metav1.ObjectMeta) *metav1.ObjectMeta {
	kept := *m
	kept.ManagedFields, kept.Annotations = nil, nil
	if value, supervised := m.Annotations[epoch.Annotation]; supervised {
		kept.Annotations = map[string]string{epoch.Annotation: value}
	}
	return &kept
}

// stripStatuses keeps how containers terminated and how often they restarted, and for the rendezvous server also when it started.
func stripStatuses(statuses []corev1.ContainerStatus, isServer bool) []corev1.ContainerStatus {
	var kept []corev1.ContainerStatus
	for _, s := range statuses {
		k := corev1.ContainerStatus{Name: s.Name, RestartCount: s.RestartCount}
		if t := s.State.Terminated; t != nil {
			k.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: t.ExitCode, Reason: t.Reason, StartedAt: t.StartedAt, FinishedAt: t.FinishedAt}
		}
		if isServer {
			k.State.Running = s.State.Running
		}
		if k.RestartCount > 0 || k.State != (corev1.ContainerState{}) {
			kept = append(kept, k)
		}
	}
	return kept
}

func stripService(o any) (any, error) {
	full, ok := o.(*corev1.Service)
	if !ok {
		return o, nil
	}
	return &corev1.Service{TypeMeta: full.TypeMeta, ObjectMeta: *stripMeta(&full.ObjectMeta)}, nil
}

func stripNode(o any) (any, error) {
	full, ok := o.(*corev1.Node)
	if !ok {
		return o, nil
	}
	node := &corev1.Node{TypeMeta: full.TypeMeta, ObjectMeta: *stripMeta(&full.ObjectMeta)}
	node.Spec.Unschedulable, node.Spec.Taints = full.Spec.Unschedulable, full.Spec.Taints
	for _, c := range full.Status.Conditions {
		if c.Type == corev1.NodeReady {
			node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{Type: c.Type, Status: c.Status, LastTransitionTime: c.LastTransitionTime})
		}
	}
	return node, nil
}
