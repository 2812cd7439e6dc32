package torch

import (
	"fmt"
	"os"
	"strings"
)

// Line is what rank 0 logs after each step, see train.py.
type Line struct {
	Step, World, Restart int
	Loss                 float64
}

// Parse parses a line. ok is false for other or incomplete lines.
func Parse(text string) (l Line, ok bool) {
	n, err := fmt.Sscanf(text, "step=%d loss=%g world=%d restart=%d", &l.Step, &l.Loss, &l.World, &l.Restart)
	return l, err == nil && n == 4
}

// History is the file to which rank 0 appends its lines, regardless of which worker has that rank.
type History string

// HistoryOf returns the history of a training run with the given state file.
func HistoryOf(state string) History { return History(state + ".log") }

// Lines returns all lines so far, or none if the file does not exist yet.
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

// Last returns the last line, or a zero Line.
func (h History) Last() Line {
	lines := h.Lines()
	if len(lines) == 0 {
		return Line{}
	}
	return lines[len(lines)-1]
}

// Check returns an error if there are too few steps, if steps are repeated or missing, or if the loss has not been
// halved. One missing step at a time is allowed, because rank 0 may have been killed between writing its
// checkpoint and its line.
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

// GoesOn reports whether the lines after the given line number include five consecutive steps with the given
// number of workers.
func (h History) GoesOn(after, world int) bool {
	n := 0
	for _, l := range h.Lines()[after:] {
		if n++; l.World != world {
			n = 0
		}
	}
	return n >= 5
}
