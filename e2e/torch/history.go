package torch

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"sync"
)

// Line is what a worker prints after a step, see train.py.
type Line struct {
	Step, Rank, World, Restart int
	Loss                       float64
}

// Parse reads a line of a worker; not ok is a line that says something else.
func Parse(text string) (l Line, ok bool) {
	at := strings.Index(text, "step=")
	if at < 0 {
		return Line{}, false
	}
	n, err := fmt.Sscanf(text[at:], "step=%d loss=%g rank=%d world=%d restart=%d", &l.Step, &l.Loss, &l.Rank, &l.World, &l.Restart)
	return l, err == nil && n == 5
}

// History is what rank 0 has printed, whichever worker that was.
type History struct {
	mu    sync.Mutex
	lines []Line
}

// Read adds the lines of a worker until its output ends.
func (h *History) Read(r io.Reader) {
	for scanner := bufio.NewScanner(r); scanner.Scan(); {
		if l, ok := Parse(scanner.Text()); ok {
			h.Add(l)
		}
	}
}

// Add adds a line, if it is one of rank 0.
func (h *History) Add(l Line) {
	if l.Rank != 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines = append(h.lines, l)
}

// Lines are all lines so far.
func (h *History) Lines() []Line {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]Line(nil), h.lines...)
}

// Last is the last line, or a zero one.
func (h *History) Last() Line {
	lines := h.Lines()
	if len(lines) == 0 {
		return Line{}
	}
	return lines[len(lines)-1]
}

// Check returns what is wrong with a training: too few steps to tell, steps that were done again (one may be: a worker that dies between its print and
// the next one's save), or a loss that has not come down to half of what it was.
func Check(lines []Line) error {
	const few = 10
	if len(lines) < 4*few {
		return fmt.Errorf("only %d steps", len(lines))
	}
	for i, l := range lines[1:] {
		if l.Step < lines[i].Step || l.Step > lines[i].Step+1 {
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
