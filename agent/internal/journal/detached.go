package journal

import (
	"bytes"
	"io"
	"time"
)

// backlog is how many lines wait for a log that is not taken; what comes beyond is lost.
const backlog = 1024

// Detached writes lines beside those who log them: a log that nobody takes, because the runtime that reads it is down or its disk
// hangs, must not keep a death from its report.
type Detached struct{ lines chan line }

type line struct {
	text    []byte
	written chan<- struct{} // nil, but for the mark that Flush waits for
}

// Detach begins to write. It does so for as long as the process lives.
func Detach(w io.Writer) *Detached {
	d := &Detached{make(chan line, backlog)}
	go func() {
		for l := range d.lines {
			if l.written != nil {
				close(l.written)
				continue
			}
			_, _ = w.Write(l.text) // there is no other place to tell of it
		}
	}()
	return d
}

// Write never waits and never fails.
func (d *Detached) Write(p []byte) (int, error) {
	select {
	case d.lines <- line{text: bytes.Clone(p)}:
	default:
	}
	return len(p), nil
}

// Flush returns when all that was logged before is written, or after the time given.
func (d *Detached) Flush(most time.Duration) {
	late := time.NewTimer(most)
	defer late.Stop()
	written := make(chan struct{})
	select {
	case d.lines <- line{written: written}:
	case <-late.C:
		return
	}
	select {
	case <-written:
	case <-late.C:
	}
}
