package testbed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// CutLog makes a stopped server lose everything that it wrote after the second of `last`, like a server that was killed
// before its writes reached the disk. It returns the number of bytes removed. It is an error if there is nothing to
// remove, because a test of the loss would then prove nothing.
func (r Redis) CutLog(ctx context.Context, last time.Time) (int64, error) {
	var cut int64
	err := r.cluster.exclusively(func() error {
		if r.PID() != 0 {
			return errors.New("redis is running: stop it before cutting its log")
		}
		before, err := r.logSize()
		if err != nil {
			return err
		}
		if err := r.truncate(ctx, last); err != nil {
			return err
		}
		after, err := r.logSize()
		if err == nil && after >= before {
			err = fmt.Errorf("redis has written nothing after %s", last.Format(time.TimeOnly))
		}
		cut = before - after
		return err
	})
	return cut, err
}

func (r Redis) truncate(ctx context.Context, last time.Time) error {
	manifest := filepath.Join(r.logFolder(), "appendonly.aof.manifest")
	check := exec.CommandContext(ctx, valkeyFolder+"/valkey-check-aof", "--truncate-to-timestamp", fmt.Sprint(last.Unix()), manifest)
	if out, err := check.CombinedOutput(); err != nil {
		return fmt.Errorf("cutting redis' log: %w\n%s", err, out)
	}
	return nil
}

func (r Redis) logFolder() string { return r.cluster.layout.state(redis, "appendonlydir") }

// logSize returns the number of bytes written since the last rewrite.
func (r Redis) logSize() (int64, error) {
	files, err := filepath.Glob(filepath.Join(r.logFolder(), "*.incr.aof"))
	if err != nil || len(files) == 0 {
		return 0, fmt.Errorf("no redis log in %s", r.logFolder())
	}
	var sum int64
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			return 0, fmt.Errorf("measuring redis' log: %w", err)
		}
		sum += info.Size()
	}
	return sum, nil
}
