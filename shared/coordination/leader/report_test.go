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
			"a: terminating, and its node x is out of service; force-deleted, each slot gets a new pod",
		},
		"several pods of one node, and one of another": {
			[]DeletePod{dead("a", "its node x is out of service"), dead("b", "its node is gone"), dead("c", "its node x is out of service")},
			"a, c: terminating, and its node x is out of service; force-deleted, each slot gets a new pod; " +
				"b: terminating, and its node is gone; force-deleted, each slot gets a new pod",
		},
		"more than an event can hold": {
			[]DeletePod{dead("a", "1"), dead("b", "1"), dead("c", "1"), dead("d", "1"), dead("e", "2"), dead("f", "3"), dead("g", "4")},
			"a, b, c and 1 more: terminating, and 1; force-deleted, each slot gets a new pod; " +
				"e: terminating, and 2; force-deleted, each slot gets a new pod; " +
				"f: terminating, and 3; force-deleted, each slot gets a new pod; and the same on 1 more nodes",
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
