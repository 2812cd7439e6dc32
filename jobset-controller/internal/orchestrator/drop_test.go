package orchestrator

import (
	"errors"
	"testing"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/forming"
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

// The store is not asked to release a pod twice.
func TestALeaderThatWasReplacedDeletesNoPodThatWasReleasedBefore(t *testing.T) {
	g := startForming(t, nil)
	g.release(1, slotOf("js-w-0-1", 1))
	g.takeOver(9)
	s, err := g.r.observe(g.ctx, g.jobSet())
	g.must(err)
	_, err = g.r.deleteMissing(g.ctx, s, forming.Slot{Name: "js-w-0-1", Job: g.job(), Pod: g.pod(0, 1)})
	if !errors.Is(err, coordination.ErrStaleLeader) {
		t.Errorf("error %v, want %v", err, coordination.ErrStaleLeader)
	}
	g.wantDeleted()
}
