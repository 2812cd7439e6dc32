package orchestrator

import "testing"

func TestForcedDeletionsAreOneEvent(t *testing.T) {
	for name, c := range map[string]struct {
		forced []forcedAway
		want   string
	}{
		"one pod": {
			[]forcedAway{{"a", "its node x is out of service"}},
			"a: being deleted, and its node x is out of service; deleted by force, each slot gets a new pod",
		},
		"all of a node, and of another": {
			[]forcedAway{{"a", "its node x is out of service"}, {"b", "its node is gone"}, {"c", "its node x is out of service"}},
			"a, c: being deleted, and its node x is out of service; deleted by force, each slot gets a new pod; " +
				"b: being deleted, and its node is gone; deleted by force, each slot gets a new pod",
		},
		"more than an event can hold": {
			[]forcedAway{{"a", "1"}, {"b", "1"}, {"c", "1"}, {"d", "1"}, {"e", "2"}, {"f", "3"}, {"g", "4"}},
			"a, b, c and 1 more: being deleted, and 1; deleted by force, each slot gets a new pod; " +
				"e: being deleted, and 2; deleted by force, each slot gets a new pod; " +
				"f: being deleted, and 3; deleted by force, each slot gets a new pod; and the same on 1 more nodes",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := forcedNote(c.forced); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
