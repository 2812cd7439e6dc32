package relaxation

import "testing"

func TestDecide(t *testing.T) {
	for name, c := range map[string]struct {
		question Question
		want     Answer
	}{
		"it fits on the node it failed on": {
			Question{Excluded: []Candidate{{"a", Now}}},
			Answer{true, NothingElseFits, "a"},
		},
		"others could be preempted elsewhere, but need not lose their place for a memory": {
			Question{Excluded: []Candidate{{"a", Now}}, OthersByPreemption: true},
			Answer{true, NothingElseFits, "a"},
		},
		"a node that has room is better than one that has to be freed": {
			Question{Excluded: []Candidate{{"a", ByPreemption}, {"b", Now}}},
			Answer{true, NothingElseFits, "b"},
		},
		"only a node it failed on can be freed": {
			Question{Excluded: []Candidate{{"a", Never}, {"b", ByPreemption}}},
			Answer{true, NothingElseCanFit, "b"},
		},
		"another node can be freed too, which comes first": {
			Question{Excluded: []Candidate{{"b", ByPreemption}}, OthersByPreemption: true},
			Answer{Reason: NotTheCause},
		},
		"it fits nowhere at all": {
			Question{Excluded: []Candidate{{"a", Never}}},
			Answer{Reason: NotTheCause},
		},
		"the nodes it failed on are gone": {
			Question{OthersByPreemption: true},
			Answer{Reason: NotTheCause},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Decide(c.question); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}
