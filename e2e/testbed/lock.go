package testbed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// lock prevents other processes from changing the testbed. The kernel releases the lock when its holder
// exits.
func lock(ctx context.Context, layout Layout, progress io.Writer) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(layout.lockFile()), 0o755); err != nil {
		return nil, fmt.Errorf("creating the cache folder: %w", err)
	}
	file, err := os.OpenFile(layout.lockFile(), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("locking the testbed: %w", err)
	}
	for announced := false; ; {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { file.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			file.Close()
			return nil, fmt.Errorf("locking the testbed: %w", err)
		}
		if !announced {
			announced = true
			fmt.Fprintln(progress, "waiting for another process that changes the testbed")
		}
		select {
		case <-ctx.Done():
			file.Close()
			return nil, fmt.Errorf("another process is changing the testbed: %w", ctx.Err())
		case <-time.After(pollInterval):
		}
	}
}
