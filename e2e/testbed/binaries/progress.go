package binaries

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// tick shows that a slow task is in progress. On a terminal it updates a single line every second; elsewhere it prints
// a new line every ten seconds. The returned function stops it and prints the outcome.
func tick(w io.Writer, what string) func(error) {
	every, before, after := 10*time.Second, "", "\n"
	if isTerminal(w) {
		every, before, after = time.Second, "\r\033[K", ""
	}
	begin := time.Now()
	elapsed := func() time.Duration { return time.Since(begin).Round(time.Second) }
	done := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				fmt.Fprintf(w, "%s%s ... %s%s", before, what, elapsed(), after)
			case <-done:
				return
			}
		}
	})
	return func(err error) {
		close(done)
		group.Wait()
		outcome := "done"
		if err != nil {
			outcome = "failed"
		}
		fmt.Fprintf(w, "%s%s: %s after %s\n", before, what, outcome, elapsed())
	}
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
