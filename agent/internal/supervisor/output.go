package supervisor

import (
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/holdfast-project/holdfast/agent/internal/process"
)

const (
	copyAtOnce = 64 << 10
	// lastWords is how long the end of the supervisor waits for what is left in the pipes. Their writers are dead by then.
	lastWords = time.Second
	// inOrder is how long a program waits for the last words of the one before it, so that the log has them in order.
	inOrder = 50 * time.Millisecond
)

// outputProgress takes whatever a program writes to its standard output or error for a sign. Each program gets pipes of its own,
// from which all is copied to where it would have gone, so that what an earlier one has left is no sign of the next.
type outputProgress struct {
	to [2]io.Writer // for standard output and error

	mu      sync.Mutex
	n       uint64
	program uint64            // the newest
	copying []<-chan struct{} // of each pipe that may have something left, closed when it has not
}

func newOutputProgress(to [2]io.Writer) *outputProgress { return &outputProgress{to: to} }

func (p *outputProgress) variable() string { return "" }

func (p *outputProgress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.program++
}

func (p *outputProgress) count() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.n
}

func (p *outputProgress) saw(program uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if program == p.program {
		p.n++
	}
}

// through makes a start of programs one of programs whose output is seen.
func (p *outputProgress) through(start func(process.Spec) (*process.Child, error)) func(process.Spec) (*process.Child, error) {
	return func(s process.Spec) (*process.Child, error) {
		p.finish(inOrder)
		for i := range s.Output {
			end, err := p.pipe(p.to[i])
			if err != nil {
				return nil, err
			}
			defer syscall.Close(end) // the child has its own; with the last of those the copying ends
			s.Output[i] = uintptr(end)
		}
		return start(s)
	}
}

// pipe returns the end that a program writes to. It blocks, as any output does; Go's own pipes would hand on an end that does not.
func (p *outputProgress) pipe(to io.Writer) (end int, err error) {
	var ends [2]int
	if err := syscall.Pipe2(ends[:], syscall.O_CLOEXEC); err != nil {
		return 0, fmt.Errorf("making a pipe for the worker's output: %w", err)
	}
	if err := syscall.SetNonblock(ends[0], true); err != nil { // so that a read waits without a thread
		return 0, fmt.Errorf("making a pipe for the worker's output: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	from, program, done := os.NewFile(uintptr(ends[0]), "output"), p.program, make(chan struct{})
	go func() { p.copy(from, to, program); close(done) }()
	p.copying = append(p.copying, done)
	return ends[1], nil
}

func (p *outputProgress) copy(from *os.File, to io.Writer, program uint64) {
	defer from.Close()
	for some := make([]byte, copyAtOnce); ; {
		n, err := from.Read(some)
		if n > 0 {
			p.saw(program)
			_, _ = to.Write(some[:n]) // whom nobody reads writes on all the same
		}
		if err != nil {
			return
		}
	}
}

// finish waits for the last words of programs that are gone, but not for longer than this.
func (p *outputProgress) finish(patience time.Duration) {
	p.mu.Lock()
	copying := p.copying
	p.copying = nil
	p.mu.Unlock()
	over := time.After(patience)
	for i, done := range copying {
		select {
		case <-done:
		case <-over:
			p.mu.Lock()
			p.copying = append(p.copying, copying[i:]...)
			p.mu.Unlock()
			return
		}
	}
}
