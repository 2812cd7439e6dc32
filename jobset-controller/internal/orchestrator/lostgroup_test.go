package orchestrator

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// wipeOnPodRead wipes the store when the leader reads a pod live.
func (g *rig) wipeOnPodRead() {
	g.r.Live = g.through(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if _, ok := obj.(*corev1.Pod); ok {
				g.store.Wipe()
			}
			return c.Get(ctx, key, obj, opts...)
		},
	})
}

func TestStoreLosesTheGroupWhileFencedPodsAreDeleted(t *testing.T) {
	g := fourPods(t)
	g.release(1, slotOf("js-w-0-1", 1))
	g.release(1, slotOf("js-w-0-2", 1))
	g.wipeOnPodRead()
	g.reconcile()
	g.group() // the leader reopens it immediately
	g.wantDeleted()
}

func TestStoreLosesTheGroupWhileMissingPodsAreDeleted(t *testing.T) {
	g := startForming(t, nil)
	g.joinSlot("js-w-0-0", 1, 1)
	g.pass(29 * time.Minute)
	g.wipeOnPodRead()
	g.pass(2 * time.Minute)
	g.wantDeleted()
}
