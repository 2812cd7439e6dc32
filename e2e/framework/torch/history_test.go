package torch

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(t *testing.T, text string) History {
	t.Helper()
	h := HistoryOf(filepath.Join(t.TempDir(), "state"))
	if err := os.WriteFile(string(h), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return h
}

func TestHistoryIgnoresIncompleteLines(t *testing.T) {
	h := write(t, "step=1 loss=0.5000 world=2 restart=0\nhello\nstep=2 loss=0.4000 world=2 restart=1\nstep=3 loss=0.4000 world=2 restart=1")
	if got := h.Lines(); len(got) != 2 || got[0] != (Line{Step: 1, World: 2, Loss: 0.5}) || h.Last() != (Line{2, 2, 1, 0.4}) {
		t.Errorf("got %+v", got)
	}
	if none := HistoryOf(filepath.Join(t.TempDir(), "none")); none.Lines() != nil || none.Last() != (Line{}) {
		t.Errorf("got %+v", none.Lines())
	}
}

func TestGoesOn(t *testing.T) {
	line := func(world int) string { return fmt.Sprintf("step=1 loss=1 world=%d restart=0\n", world) }
	h := write(t, strings.Repeat(line(2), 6)+strings.Repeat(line(3), 5))
	for name, c := range map[string]struct {
		after, world int
		want         bool
	}{
		"five of three at the end":             {0, 3, true},
		"five of two, but not at the end":      {0, 2, false},
		"five of three, of which four are new": {7, 3, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := h.GoesOn(c.after, c.world); got != c.want {
				t.Errorf("got %v", got)
			}
		})
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
		"a training that continues":   {training(func([]Line) {}), ""},
		"a step that is repeated":     {training(func(l []Line) { l[20].Step = 20 }), "came after"},
		"a step without a line":       {append(training(func([]Line) {}), Line{Step: 42, Loss: 0.01}), ""},
		"a training that starts over": {training(func(l []Line) { l[20].Step = 1 }), "came after"},
		"steps that are skipped":      {training(func(l []Line) { l[39].Step = 90 }), "came after"},
		"the loss does not decrease": {training(func(l []Line) {
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
