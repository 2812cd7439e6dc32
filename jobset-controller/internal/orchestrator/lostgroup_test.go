package orchestrator

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/forming"
)

// wipeOnPodRead empties the store when the leader reads a pod past its cache.
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

// wantSoon: the group is opened again at once.
func (g *rig) wantSoon(next time.Duration) {
	g.Helper()
	if next > time.Second {
		g.Errorf("the next reconcile is due in %s", next)
	}
	g.reconcile()
	g.group()
}

func TestAStoreThatLosesTheGroupWhileFencedPodsAreDeleted(t *testing.T) {
	g := fourPods(t)
	g.release(1, slotOf("js-w-0-1", 1))
	g.release(1, slotOf("js-w-0-2", 1))
	g.reconcile()
	g.wipeOnPodRead()
	g.pass(4 * time.Second)
	g.clock.SetTime(g.clock.Now().Add(2 * time.Second))
	g.wantSoon(g.reconcile())
	g.wantDeleted()
}

func TestAStoreThatLosesTheGroupWhileItsMissingPodsAreDeleted(t *testing.T) {
	g := startForming(t, nil)
	s, err := g.r.observe(g.ctx, g.jobSet())
	g.must(err)
	job := g.job()
	step := &formingStep{Step: forming.Step{Missing: []forming.Slot{
		{Name: "js-w-0-0", Job: job, Pod: g.pod(0, 0)}, {Name: "js-w-0-1", Job: job, Pod: g.pod(0, 1)},
	}}}
	g.wipeOnPodRead()
	g.must(g.r.replaceMissing(g.ctx, s, step))
	g.wantDeleted()
}
