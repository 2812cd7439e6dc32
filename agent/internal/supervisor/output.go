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
	// drainTimeout is how long the supervisor spends copying what is left in the pipes before it exits. By then, no
	// process is writing to them.
	drainTimeout = time.Second
	// orderTimeout is how long a new program waits for the output of the previous one to be copied, to keep the log in
	// order.
	orderTimeout = 50 * time.Millisecond
)

// outputProgress counts any output of a program as progress. Each program has its own pipes, which are copied to the
// supervisor's output. Output that an earlier program left in its pipe is therefore not mistaken for progress of the
// next one.
type outputProgress struct {
	to [2]io.Writer // for standard output and error

	mu      sync.Mutex
	n       uint64
	program uint64            // number of the newest program
	copying []<-chan struct{} // one channel per pipe that may still have content; closed once the pipe is drained
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

func (p *outputProgress) record(program uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if program == p.program {
		p.n++
	}
}

// through wraps start so that the output of the programs is read.
func (p *outputProgress) through(start func(process.Spec) (*process.Child, error)) func(process.Spec) (*process.Child, error) {
	return func(s process.Spec) (*process.Child, error) {
		p.finish(orderTimeout)
		for i := range s.Output {
			end, err := p.pipe(p.to[i])
			if err != nil {
				return nil, err
			}
			defer syscall.Close(end) // the child has its own descriptors; copying ends when those are closed
			s.Output[i] = uintptr(end)
		}
		return start(s)
	}
}

// pipe returns the write end of a new pipe for a program. That end is blocking, as programs expect. os.Pipe would
// return a non-blocking one.
func (p *outputProgress) pipe(to io.Writer) (end int, err error) {
	var ends [2]int
	if err := syscall.Pipe2(ends[:], syscall.O_CLOEXEC); err != nil {
		return 0, fmt.Errorf("creating a pipe for the worker's output: %w", err)
	}
	if err := syscall.SetNonblock(ends[0], true); err != nil { // so that the Go runtime polls instead of blocking a thread
		return 0, fmt.Errorf("creating a pipe for the worker's output: %w", err)
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
			p.record(program)
			_, _ = to.Write(some[:n]) // the program keeps running even if nobody reads its output
		}
		if err != nil {
			return
		}
	}
}

// finish waits until the output of earlier programs has been copied, but no longer than patience.
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
