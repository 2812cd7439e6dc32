package leader

import (
	"testing"

	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
)

func TestForcedDeletionsAreOneEvent(t *testing.T) {
	for name, c := range map[string]struct {
		forced []DeletePod
		want   string
	}{
		"one pod": {
			[]DeletePod{dead("a", "its node x is out of service")},
			"pod a is terminating, and its node x is out of service; force-deleted it, each slot gets a new pod",
		},
		"several pods": {
			[]DeletePod{dead("a", "its node x is out of service"), dead("b", "its node is gone"), dead("c", "its node x is out of service")},
			"pod a is terminating, and its node x is out of service; force-deleted it and 2 more, each slot gets a new pod",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := forcedText(c.forced); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func dead(pod, why string) DeletePod {
	return DeletePod{Pod: &workload.Pod{Name: pod}, Why: why, For: ForDead}
}
