package torch

import (
	"fmt"
	"os"
	"strings"
)

// Line is what rank 0 says after a step, see train.py.
type Line struct {
	Step, World, Restart int
	Loss                 float64
}

// Parse reads a line; not ok is one that says something else, or that is not complete.
func Parse(text string) (l Line, ok bool) {
	n, err := fmt.Sscanf(text, "step=%d loss=%g world=%d restart=%d", &l.Step, &l.Loss, &l.World, &l.Restart)
	return l, err == nil && n == 4
}

// History is the file to which rank 0, whichever worker that is, adds its lines.
type History string

// HistoryOf is the history of a training that keeps its state in the file.
func HistoryOf(state string) History { return History(state + ".log") }

// Lines are all lines so far; none if there is no file yet.
func (h History) Lines() (lines []Line) {
	content, err := os.ReadFile(string(h))
	if err != nil {
		return nil
	}
	for text := range strings.Lines(string(content)) {
		if l, ok := Parse(text); ok && strings.HasSuffix(text, "\n") {
			lines = append(lines, l)
		}
	}
	return lines
}

// Last is the last line, or a zero one.
func (h History) Last() Line {
	lines := h.Lines()
	if len(lines) == 0 {
		return Line{}
	}
	return lines[len(lines)-1]
}

// Check returns what is wrong with a training: too few steps, steps that were repeated, steps that are missing (one may be: that of a rank 0
// that died between its checkpoint and its line), or a loss that has not come down to half of what it was.
func Check(lines []Line) error {
	const few = 10
	if len(lines) < 4*few {
		return fmt.Errorf("only %d steps", len(lines))
	}
	for i, l := range lines[1:] {
		if l.Step <= lines[i].Step || l.Step > lines[i].Step+2 {
			return fmt.Errorf("step %d came after step %d", l.Step, lines[i].Step)
		}
	}
	if first, last := mean(lines[:few]), mean(lines[len(lines)-few:]); last > first/2 {
		return fmt.Errorf("the loss was %.4f in the first steps and is %.4f in the last", first, last)
	}
	return nil
}

func mean(lines []Line) (sum float64) {
	for _, l := range lines {
		sum += l.Loss
	}
	return sum / float64(len(lines))
}

// GoesOn reports whether, after so many lines, there are five more steps that so many workers have done together, with nobody else in between.
func (h History) GoesOn(after, world int) bool {
	n := 0
	for _, l := range h.Lines()[after:] {
		if n++; l.World != world {
			n = 0
		}
	}
	return n >= 5
}
