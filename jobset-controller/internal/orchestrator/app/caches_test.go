package app

import (
	"context"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// If all pods arrived in one response, a start with 50,000 pods would need five times the memory limit of the chart.
func TestPodsAreListedInPages(t *testing.T) {
	var continued []string
	lw := &cache.ListWatch{
		ListWithContextFunc: func(_ context.Context, options metav1.ListOptions) (runtime.Object, error) {
			if options.Limit == 0 || options.ResourceVersion != "" && options.Continue == "" {
				t.Errorf("a request for all pods: %+v", options)
			}
			continued = append(continued, options.Continue)
			list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}, Items: []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "a" + options.Continue}}}}
			if options.Continue == "" {
				list.Continue = "more"
			}
			return list, nil
		},
		WatchFuncWithContext: func(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
			if options.SendInitialEvents != nil { // like an API server that cannot stream lists
				return nil, apierrors.NewInvalid(schema.GroupKind{}, "", nil)
			}
			return watch.NewFake(), nil
		},
	}
	informer := NewOptions().caches().NewInformer(lw, &corev1.Pod{}, time.Hour, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	go informer.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		t.Fatal("the informer has not synced")
	}
	if !slices.Equal(continued, []string{"", "more"}) || len(informer.GetStore().List()) != 2 {
		t.Errorf("requested %q, got %d pods", continued, len(informer.GetStore().List()))
	}
}
