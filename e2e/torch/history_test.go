package torch

import (
	"strings"
	"testing"
)

func TestHistoryKeepsTheLinesOfRank0(t *testing.T) {
	var h History
	h.Read(strings.NewReader(`INFO: starting
[default0]:step=1 loss=0.5000 rank=0 world=2 restart=0
step=1 loss=0.5000 rank=1 world=2 restart=0
step=2 loss=nan rank=0 world=2 restart=0
step=2 loss=0.4 rank=0
`))
	if got := h.Lines(); len(got) != 2 || got[0] != (Line{Step: 1, World: 2, Loss: 0.5}) || h.Last().Step != 2 {
		t.Errorf("got %+v", got)
	}
}

func TestCheck(t *testing.T) {
	training := func(change func(lines []Line)) []Line {
		var lines []Line
		for step := range 40 {
			lines = append(lines, Line{Step: step + 1, Loss: 1 / float64(step+1)})
		}
		change(lines)
		return lines
	}
	for name, c := range map[string]struct {
		lines []Line
		want  string
	}{
		"a training that goes on":     {training(func([]Line) {}), ""},
		"a step that is done twice":   {training(func(l []Line) { l[20].Step = 20 }), "came after"},
		"a training that begins anew": {training(func(l []Line) { l[20].Step = 1 }), "came after"},
		"steps that are left out":     {training(func(l []Line) { l[39].Step = 90 }), "came after"},
		"nothing was learnt": {training(func(l []Line) {
			for i := range l {
				l[i].Loss = 1
			}
		}), "the loss"},
		"too few steps": {training(func([]Line) {})[:30], "only"},
	} {
		t.Run(name, func(t *testing.T) {
			err := Check(c.lines)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}
