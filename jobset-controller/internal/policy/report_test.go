package policy

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
)

func TestLaterStageIsReportedAsNotStarted(t *testing.T) {
	spec := &MakeJobSet("a").Entry("init", 1).Entry("train", 3).InOrder().Obj().Spec
	type counts = v1alpha2.ReplicatedJobStatus
	for name, c := range map[string]struct {
		tallies, want []counts
		gates         []bool
		queued        bool
	}{
		"the first stage starts, the second waits": {
			[]counts{{Name: "init", Active: 1}, {Name: "train"}}, []counts{{Name: "init", Active: 1}, {Name: "train", NotStarted: 3}}, []bool{true, false}, false},
		"the second stage counts as ready for Kueue": {
			[]counts{{Name: "init", Active: 1}, {Name: "train"}}, []counts{{Name: "init", Active: 1}, {Name: "train", NotStarted: 3, Ready: 3}}, []bool{true, false}, true},
		"the second one starts": {
			[]counts{{Name: "init", Ready: 1}, {Name: "train"}}, []counts{{Name: "init", Ready: 1}, {Name: "train"}}, []bool{true, true}, true},
		"a gate that closes again does not hide running Jobs": {
			[]counts{{Name: "init"}, {Name: "train", Ready: 1, Active: 2}}, []counts{{Name: "init"}, {Name: "train", Ready: 1, Active: 2}}, []bool{true, false}, true},
	} {
		t.Run(name, func(t *testing.T) {
			before := append([]counts(nil), c.tallies...)
			if diff := cmp.Diff(c.want, Reported(spec, c.tallies, c.gates, c.queued)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(before, c.tallies); diff != "" {
				t.Errorf("the tallies were changed: %s", diff)
			}
		})
	}
}
