package coordination

import "testing"

func TestTheLevelSaysForWhomTheBarrierIsOpen(t *testing.T) {
	running := Level{Phase: Running, Steps: "3!1,-,x"}
	restarting := running
	restarting.Phase = Restarting
	tests := map[string]struct {
		level        Level
		step         int64
		lifted, left bool
		enteredAt    int64
		entered      bool
		secondLeft   bool // the stage with the index 1
	}{
		"a step that has entered a running group":    {running, 0, true, false, 3, true, true},
		"a step that has entered a restarting group": {restarting, 0, false, false, 3, true, true},
		"a step that forms":                          {running, 1, false, false, 0, false, false},
		"a step that has left":                       {running, 2, false, true, 0, false, true},
		"a step that is not there":                   {running, 3, false, false, 0, false, false},
		"no step":                                    {running, -1, false, false, 0, false, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			round, entered := test.level.Entered(test.step)
			if round != test.enteredAt || entered != test.entered {
				t.Errorf("entered at %d, %v; want %d, %v", round, entered, test.enteredAt, test.entered)
			}
			if got := test.level.Lifted(test.step); got != test.lifted {
				t.Errorf("lifted %v, want %v", got, test.lifted)
			}
			if got := test.level.Left(test.step); got != test.left {
				t.Errorf("left %v, want %v", got, test.left)
			}
			if got := test.level.StageLeft(test.step, 1); got != test.secondLeft {
				t.Errorf("stage left %v, want %v", got, test.secondLeft)
			}
		})
	}
}
