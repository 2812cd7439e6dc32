package orchestrator

import (
	"errors"
	"testing"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination"
)

// Its cache may show a JobSet that wants no group any more, or not yet.
func TestALeaderThatWasReplacedDropsNoGroup(t *testing.T) {
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
