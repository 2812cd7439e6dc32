package leader

import (
	"testing"
	"time"

	"github.com/holdfast-project/holdfast/shared/coordination"
)

// The store keeps milliseconds: what it cannot keep must not make the leader open the group again for ever.
func TestADelayWithMicrosecondsIsNotOutOfDate(t *testing.T) {
	stages := []coordination.Stage{{Prefix: "js-w", Jobs: 1, Pods: 1}}
	in := Input{
		Wanted: &Wanted{Stages: stages, MaxDelay: 1500 * time.Microsecond},
		Group:  &coordination.Summary{Stages: stages, MaxDelay: time.Millisecond},
	}
	if in.outOfDate() {
		t.Error("the group is out of date")
	}
}
