// Package podcache keeps a cache of many pods small. It lists pods page by page, strips each page at once, and holds one copy of each text that
// pods share.
package podcache

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
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
