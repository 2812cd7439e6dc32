// Package podcache reduces the memory usage of a cache with many pods. It lists pods in pages, strips each page as it arrives, and shares
// strings between pods. It also strips other objects, and indexes pods by their node.
package podcache

import (
	"context"
	"time"
	"unique"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Strip returns a copy of a pod with only the fields that a program reads.
type Strip func(full *corev1.Pod) *corev1.Pod

// NewInformer returns an informer that lists pods in pages.
func (s Strip) NewInformer(lw cache.ListerWatcher, o runtime.Object, resync time.Duration, indexers cache.Indexers) cache.SharedIndexInformer {
	if _, ok := o.(*corev1.Pod); ok {
		lw = s.paged(cache.ToListerWatcherWithContext(lw))
	}
	return cache.NewSharedIndexInformer(lw, o, resync, indexers)
}

// Transform strips a pod before the informer stores it. It returns other objects unchanged.
func (s Strip) Transform(o any) (any, error) { return Each(s.once)(o) }

// Each returns a function that strips each object of a kind before an informer stores it, and returns other objects unchanged.
func Each[T any](strip func(full *T) *T) cache.TransformFunc {
	return func(o any) (any, error) {
		if full, ok := o.(*T); ok {
			return strip(full), nil
		}
		return o, nil
	}
}

// StripNode returns a copy of a node with only its labels, taints and conditions.
func StripNode(full *corev1.Node) *corev1.Node {
	node := &corev1.Node{TypeMeta: full.TypeMeta, ObjectMeta: full.ObjectMeta}
	node.ManagedFields, node.Annotations = nil, nil
	node.Spec.Taints, node.Spec.Unschedulable = full.Spec.Taints, full.Spec.Unschedulable
	for _, c := range full.Status.Conditions {
		node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{Type: c.Type, Status: c.Status, LastTransitionTime: c.LastTransitionTime})
	}
	return node
}

// HasLabel returns a selector for objects that have a label, regardless of its value.
func HasLabel(key string) labels.Selector {
	selector, err := labels.Parse(key)
	utilruntime.Must(err)
	return selector
}

// NodeIndex is the index of pods by their node.
const NodeIndex = "holdfast.node"

// IndexByNode adds the index.
func IndexByNode(ctx context.Context, indexer client.FieldIndexer) error {
	return indexer.IndexField(ctx, &corev1.Pod{}, NodeIndex, func(o client.Object) []string {
		if node := o.(*corev1.Pod).Spec.NodeName; node != "" {
			return []string{node}
		}
		return nil
	})
}

// paged lists pods in pages and strips each page as it arrives. An API server without streaming lists would otherwise send all pods
// in one response, because its cache ignores the limit for resource version 0. Unstripped pods take several times as much memory.
func (s Strip) paged(lw cache.ListerWatcherWithContext) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			if options.Limit > 0 {
				options.ResourceVersion = ""
			}
			list, err := lw.ListWithContext(ctx, options)
			if pods, ok := list.(*corev1.PodList); ok {
				for i := range pods.Items {
					pods.Items[i] = *s.once(&pods.Items[i])
				}
			}
			return list, err
		},
		WatchFuncWithContext: lw.WatchWithContext,
	}
}

// once strips a pod unless it has been stripped before. It must not copy stripped pods, because the informer transforms the pods of each
// page again. Since the API server sets a termination grace period on every pod, a pod without one has been stripped.
func (s Strip) once(pod *corev1.Pod) *corev1.Pod {
	if pod.Spec.TerminationGracePeriodSeconds == nil {
		return pod
	}
	stripped := s(pod)
	stripped.ManagedFields, stripped.Spec.TerminationGracePeriodSeconds = nil, nil
	shareTexts(stripped)
	return stripped
}

// share returns a shared copy of a string. Decoding creates separate copies for each pod.
func share(text string) string { return unique.Make(text).Value() }

// shareTexts replaces strings in a stripped pod that are likely to occur in other pods, because they come from its workload, its
// node or the API.
func shareTexts(pod *corev1.Pod) {
	pod.Namespace, pod.GenerateName = share(pod.Namespace), share(pod.GenerateName)
	labels := make(map[string]string, len(pod.Labels))
	for key, value := range pod.Labels {
		labels[share(key)] = share(value)
	}
	pod.Labels = labels
	for i := range pod.OwnerReferences {
		shareOwner(&pod.OwnerReferences[i])
	}
	spec := &pod.Spec
	spec.NodeName, spec.SchedulerName, spec.PriorityClassName = share(spec.NodeName), share(spec.SchedulerName), share(spec.PriorityClassName)
	spec.RestartPolicy = corev1.RestartPolicy(share(string(spec.RestartPolicy)))
	for i := range spec.Tolerations {
		t := &spec.Tolerations[i]
		t.Key, t.Value = share(t.Key), share(t.Value)
		t.Operator, t.Effect = corev1.TolerationOperator(share(string(t.Operator))), corev1.TaintEffect(share(string(t.Effect)))
		if t.TolerationSeconds != nil && *t.TolerationSeconds == defaultTolerationSeconds {
			t.TolerationSeconds = &defaultTolerationSeconds
		}
	}
	for i := range spec.Containers {
		spec.Containers[i].Name = share(spec.Containers[i].Name)
	}
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		c.Type, c.Status = corev1.PodConditionType(share(string(c.Type))), corev1.ConditionStatus(share(string(c.Status)))
		c.Reason, c.Message = share(c.Reason), share(c.Message)
	}
	for i := range pod.Status.ContainerStatuses {
		pod.Status.ContainerStatuses[i].Name = share(pod.Status.ContainerStatuses[i].Name)
	}
}

func shareOwner(o *metav1.OwnerReference) {
	o.APIVersion, o.Kind, o.Name = share(o.APIVersion), share(o.Kind), share(o.Name)
	o.UID = types.UID(share(string(o.UID)))
	for _, flag := range []**bool{&o.Controller, &o.BlockOwnerDeletion} {
		if *flag != nil {
			*flag = flags[**flag]
		}
	}
}

// Cached pods share these values and must not be changed.
var (
	flags                    = map[bool]*bool{true: ptr.To(true), false: ptr.To(false)}
	defaultTolerationSeconds = int64(300) // set by the API server on each pod
)
