package orchestrator

import (
	"context"
	"errors"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination"
)

// A replaced leader's cache may show a JobSet that no longer requests a group or does not request one yet.
func TestReplacedLeaderDropsNoGroup(t *testing.T) {
	g := formed(t)
	g.takeOver(9)
	g.change(func(js *v1alpha2.JobSet) { delete(js.Annotations, v1alpha2.InPlaceTimeoutKey) })
	if _, err := g.r.Reconcile(g.ctx, request()); !errors.Is(err, coordination.ErrStaleLeader) {
		t.Errorf("error %v, want %v", err, coordination.ErrStaleLeader)
	}
	g.group()
	g.r = g.leader(9)
	g.reconcile()
	if stored, err := g.store.Read(g.ctx, uid); stored != nil || err != nil {
		t.Errorf("the store holds %+v (%v)", stored, err)
	}
}

// The other leader has already released the pod, so the old leader does not call the store to release it.
func TestReplacedLeaderDeletesNoReleasedPod(t *testing.T) {
	g := startForming(t, nil)
	g.joinSlot("js-w-0-0", 1, 1)
	g.pass(29 * time.Minute)
	g.r.Live = g.through(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			g.release(9, slotOf("js-w-0-1", 1))
			return c.Get(ctx, key, obj, opts...)
		},
	})
	g.clock.SetTime(g.clock.Now().Add(2 * time.Minute))
	if _, err := g.r.Reconcile(g.ctx, request()); !errors.Is(err, coordination.ErrStaleLeader) {
		t.Errorf("error %v, want %v", err, coordination.ErrStaleLeader)
	}
	g.wantDeleted()
}
