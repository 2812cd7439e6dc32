// Package podcache keeps a cache of many pods small. It lists pods page by page, strips each page at once, and holds one copy of each text that
// pods share.
package podcache

import (
	"context"
	"time"
	"unique"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// Strip returns a new pod with those fields of a pod that a program reads.
type Strip func(full *corev1.Pod) *corev1.Pod

// NewInformer makes the informers of client-go. One of pods lists in pages.
func (s Strip) NewInformer(lw cache.ListerWatcher, o runtime.Object, resync time.Duration, indexers cache.Indexers) cache.SharedIndexInformer {
	if _, ok := o.(*corev1.Pod); ok {
		lw = s.paged(cache.ToListerWatcherWithContext(lw))
	}
	return cache.NewSharedIndexInformer(lw, o, resync, indexers)
}

// Transform strips a pod before the informer stores it. Other objects stay as they are.
func (s Strip) Transform(o any) (any, error) {
	if pod, ok := o.(*corev1.Pod); ok {
		return s.once(pod), nil
	}
	return o, nil
}

// paged lists pods in pages and strips each page at once. An API server that cannot stream a list sends all pods in one answer otherwise,
// because its cache ignores the limit of a request for any version, 0: whole, they take several times the memory of the stripped ones.
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

// once strips a pod that is not stripped yet. The informer transforms the pods of each page again, and must not copy them. The API server
// gives a grace period to each pod, so one without it is stripped.
func (s Strip) once(pod *corev1.Pod) *corev1.Pod {
	if pod.Spec.TerminationGracePeriodSeconds == nil {
		return pod
	}
	stripped := s(pod)
	stripped.ManagedFields, stripped.Spec.TerminationGracePeriodSeconds = nil, nil
	shareTexts(stripped)
	return stripped
}

// share returns a text of which all pods in the cache hold one copy: each pod was decoded with copies of its own.
func share(text string) string { return unique.Make(text).Value() }

// shareTexts replaces the texts of a stripped pod that other pods have too: those of its workload, its node and the API.
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
	yes, no := &isTrue, &isFalse
	for _, flag := range []**bool{&o.Controller, &o.BlockOwnerDeletion} {
		switch {
		case *flag == nil:
		case **flag:
			*flag = yes
		default:
			*flag = no
		}
	}
}

// What pods of the cache point to is not changed.
var (
	isTrue, isFalse          = true, false
	defaultTolerationSeconds = int64(300) // that the API server gives to each pod
)
