package jobset

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
)

func TestDamagedEpochDoesNotDecrease(t *testing.T) {
	s := scope{jobSet: MakeJobSet("a").Annotation(epoch.Annotation, "damaged").Obj()}
	got := s.readEpoch([]batchv1.Job{*MakeJob("x", "w").Epoch(4).Obj(), *MakeJob("y", "w").Epoch(7).Obj(), *MakeJob("z", "w").Obj()})
	if got != (epoch.Record{Epoch: 7}) || len(s.faults.Other) != 1 {
		t.Errorf("got %+v and %d problems", got, len(s.faults.Other))
	}
}

func TestValidEpochIsUsed(t *testing.T) {
	s := scope{jobSet: MakeJobSet("a").Annotation(epoch.Annotation, `{"epoch":2}`).Obj()}
	got := s.readEpoch([]batchv1.Job{*MakeJob("x", "w").Epoch(4).Obj()})
	if got != (epoch.Record{Epoch: 2}) || len(s.faults.Other) != 0 {
		t.Errorf("got %+v and %d problems", got, len(s.faults.Other))
	}
}
