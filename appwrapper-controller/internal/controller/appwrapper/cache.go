package appwrapper

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/shared/recovering"
)

const (
	// labelIndex finds pods by the name of their AppWrapper.
	labelIndex = "holdfast.appwrapper"
	// nodeIndex finds pods by their node.
	nodeIndex = "holdfast.node"
)

// CacheOptions keep of the cluster's pods only those of AppWrappers, and of these and of the nodes only what is looked at.
func CacheOptions() cache.Options {
	return cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}:  {Label: wrappedOnly(), Transform: stripPod},
			&corev1.Node{}: {Transform: stripNode},
		},
	}
}

// WrappedCacheOptions are those of the cache of wrapped objects, whose kinds are not known beforehand.
func WrappedCacheOptions(scheme *runtime.Scheme, mapper meta.RESTMapper) cache.Options {
	return cache.Options{
		Scheme: scheme, Mapper: mapper, DefaultLabelSelector: wrappedOnly(), DefaultTransform: cache.TransformStripManagedFields(),
	}
}

func wrappedOnly() labels.Selector {
	exists, err := labels.NewRequirement(v1beta2.AppWrapperLabel, selection.Exists, nil)
	utilruntime.Must(err)
	return labels.NewSelector().Add(*exists)
}

// AddIndexes adds the indexes that the reconciler reads by.
func AddIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	if err := indexer.IndexField(ctx, &corev1.Pod{}, labelIndex, func(o client.Object) []string {
		return []string{o.GetLabels()[v1beta2.AppWrapperLabel]}
	}); err != nil {
		return err
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
	pod := &corev1.Pod{TypeMeta: full.TypeMeta, ObjectMeta: *bare(&full.ObjectMeta)}
	if said, found := full.Annotations[recovering.Annotation]; found {
		pod.Annotations = map[string]string{recovering.Annotation: said}
	}
	pod.Spec.NodeName = full.Spec.NodeName
	pod.Spec.Resources = full.Spec.Resources
	pod.Spec.Containers = onlyResources(full.Spec.Containers)
	pod.Spec.InitContainers = onlyResources(full.Spec.InitContainers)
	pod.Status = corev1.PodStatus{
		Phase: full.Status.Phase, Reason: full.Status.Reason,
		ContainerStatuses: onlyState(full.Status.ContainerStatuses), InitContainerStatuses: onlyState(full.Status.InitContainerStatuses),
	}
	return pod, nil
}

func bare(m *metav1.ObjectMeta) *metav1.ObjectMeta {
	kept := *m
	kept.ManagedFields, kept.Annotations = nil, nil
	return &kept
}

func onlyResources(containers []corev1.Container) []corev1.Container {
	var kept []corev1.Container
	for _, c := range containers {
		if len(c.Resources.Requests)+len(c.Resources.Limits) > 0 {
			kept = append(kept, corev1.Container{Resources: corev1.ResourceRequirements{Requests: c.Resources.Requests, Limits: c.Resources.Limits}})
		}
	}
	return kept
}

func onlyState(statuses []corev1.ContainerStatus) []corev1.ContainerStatus {
	var kept []corev1.ContainerStatus
	for _, s := range statuses {
		if s.State.Terminated != nil || len(s.AllocatedResourcesStatus) > 0 {
			kept = append(kept, corev1.ContainerStatus{
				Name: s.Name, State: corev1.ContainerState{Terminated: s.State.Terminated}, AllocatedResourcesStatus: s.AllocatedResourcesStatus,
			})
		}
	}
	return kept
}

func stripNode(o any) (any, error) {
	full, ok := o.(*corev1.Node)
	if !ok {
		return o, nil
	}
	node := &corev1.Node{TypeMeta: full.TypeMeta, ObjectMeta: *bare(&full.ObjectMeta)}
	node.Spec.Taints = full.Spec.Taints
	node.Spec.Unschedulable = full.Spec.Unschedulable
	for _, c := range full.Status.Conditions {
		node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{Type: c.Type, Status: c.Status, LastTransitionTime: c.LastTransitionTime})
	}
	return node, nil
}
