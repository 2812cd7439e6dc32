package coordination

import "testing"

func TestPositionOf(t *testing.T) {
	for slot, want := range map[string]Position{
		"js-workers-0-3":   {Job: 0, Pod: 3, Global: 5, Group: 2},
		"my-js-a-b-12-104": {Job: 12, Pod: 104, Global: 17, Group: 14},
	} {
		if got, ok := PositionOf(slot, 5, 2); !ok || got != want {
			t.Errorf("%s: %+v, %v", slot, got, ok)
		}
	}
	for _, name := range []string{"js-workers-spares-1", "", "3", "-3", "js-workers-0-"} {
		if got, ok := PositionOf(name, 0, 0); ok {
			t.Errorf("the position of %q is %+v", name, got)
		}
	}
}

func TestFill(t *testing.T) {
	p, _ := PositionOf("js-w-2-7", 10, 20)
	text := "rank=" + PlaceholderPod + " of " + PlaceholderJob + ", " + PlaceholderGlobal + ", " + PlaceholderGroup + " $X __holdfast_else__"
	if got := p.Fill(text); got != "rank=7 of 2, 12, 22 $X __holdfast_else__" {
		t.Error(got)
	}
}
