package journal

import (
	"bytes"
	"io"
	"time"
)

// backlog is the number of lines that are buffered while the log is stuck. Further lines are dropped.
const backlog = 1024

// Detached writes log lines in the background. A log that is stuck, because the runtime that reads it is down or its
// disk hangs, must not delay the report of a death.
type Detached struct{ lines chan line }

type line struct {
	text    []byte
	written chan<- struct{} // nil except for a marker that Flush waits for
}

// Detach starts writing to w in the background, until the process exits.
func Detach(w io.Writer) *Detached {
	d := &Detached{make(chan line, backlog)}
	go func() {
		for l := range d.lines {
			if l.written != nil {
				close(l.written)
				continue
			}
			_, _ = w.Write(l.text) // there is nowhere else to report the error
		}
	}()
	return d
}

// Write never blocks and never fails.
func (d *Detached) Write(p []byte) (int, error) {
	select {
	case d.lines <- line{text: bytes.Clone(p)}:
	default:
	}
	return len(p), nil
}

// Flush returns when all earlier lines are written, or after the given time.
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
