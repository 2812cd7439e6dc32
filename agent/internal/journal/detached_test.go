package journal

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// stuck is a log that nobody reads.
type stuck struct{ begun chan bool }

func (s stuck) Write([]byte) (int, error) {
	s.begun <- true
	select {}
}

func TestAStuckLogDoesNotBlockWriters(t *testing.T) {
	s := stuck{make(chan bool, 1)}
	d := Detach(s)
	log := New(d, slog.LevelInfo)
	log.Info("the first")
	<-s.begun
	for range 2 * backlog {
		log.Info("another")
	}
	d.Flush(time.Millisecond)
}

func TestADetachedLogIsComplete(t *testing.T) {
	var out strings.Builder
	d := Detach(&out)
	var want strings.Builder
	for i := range backlog / 2 {
		fmt.Fprintf(d, "line %d\n", i)
		fmt.Fprintf(&want, "line %d\n", i)
	}
	d.Flush(time.Minute)
	if out.String() != want.String() {
		t.Errorf("%d bytes were written, want %d", out.Len(), want.Len())
	}
}
