package supervisor

import (
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
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
// supervisor's output. Output that an earlier program left in its pipe is therefore not mistaken for the next program's
// progress.
type outputProgress struct {
	to      [2]io.Writer                   // for standard output and error
	n       atomic.Pointer[atomic.Uint64]  // reads of the newest program's output
	copying atomic.Pointer[sync.WaitGroup] // one goroutine for each pipe of the newest program that may still have content
}

func newOutputProgress(to [2]io.Writer) *outputProgress {
	p := &outputProgress{to: to}
	p.clear()
	p.copying.Store(&sync.WaitGroup{})
	return p
}

func (p *outputProgress) variable() string { return "" }

func (p *outputProgress) clear() { p.n.Store(&atomic.Uint64{}) }

func (p *outputProgress) count() uint64 { return p.n.Load().Load() }

// through wraps start so that the programs' output is read.
func (p *outputProgress) through(start func(process.Spec) (*process.Child, error)) func(process.Spec) (*process.Child, error) {
	return func(s process.Spec) (*process.Child, error) {
		p.finish(orderTimeout)
		p.copying.Store(&sync.WaitGroup{})
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
	from, n := os.NewFile(uintptr(ends[0]), "output"), p.n.Load()
	p.copying.Load().Go(func() { copyOutput(from, to, n) })
	return ends[1], nil
}

func copyOutput(from *os.File, to io.Writer, reads *atomic.Uint64) {
	defer from.Close()
	for some := make([]byte, copyAtOnce); ; {
		n, err := from.Read(some)
		if n > 0 {
			reads.Add(1)
			_, _ = to.Write(some[:n]) // the program keeps running even if nobody reads its output
		}
		if err != nil {
			return
		}
	}
}

// finish waits until the output of the newest program has been copied, but no longer than patience.
func (p *outputProgress) finish(patience time.Duration) {
	done := make(chan struct{})
	go func() { p.copying.Load().Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(patience):
	}
}
