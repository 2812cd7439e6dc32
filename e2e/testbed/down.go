package testbed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/holdfast-project/holdfast/e2e/testbed/host"
	"github.com/holdfast-project/holdfast/e2e/testbed/process"
)

// downTimeout limits how long to wait for the kernel to release the last process.
const downTimeout = 3 * time.Minute

// Down stops the testbed and removes everything that it has created, except for the built binaries. With purge, it also
// removes the binaries. It handles a testbed in any state, even if its processes or the process that started it were
// killed. If there is no testbed, it does nothing.
//
// It kills all processes immediately instead of asking them to exit. Their data is deleted anyway, and no program can
// restart another one if all are killed at the same time.
func Down(ctx context.Context, purge bool, progress io.Writer) error {
	if os.Geteuid() != 0 {
		return errors.New("taking the testbed down needs root")
	}
	layout, err := NewLayout()
	if err != nil {
		return err
	}
	unlock, err := lock(ctx, layout, progress)
	if err != nil {
		return err
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(ctx, downTimeout)
	defer cancel()
	if err := checkOwner(ctx, layout, progress); err != nil {
		return err
	}
	begin := time.Now()
	if err := layout.tearDown(ctx, purge, progress); err != nil {
		return fmt.Errorf("taking the testbed down: %w", err)
	}
	fmt.Fprintf(progress, "the testbed is down after %.1f s\n", time.Since(begin).Seconds())
	return nil
}

func (l Layout) tearDown(ctx context.Context, purge bool, progress io.Writer) error {
	if err := l.killAll(ctx); err != nil {
		return err
	}
	// These steps are independent of each other. A failure must not prevent the others from cleaning up.
	err := errors.Join(
		removeBridges(ctx),
		l.removeRules(ctx),
		rootGroup.Remove(ctx),
		l.undoChanges(progress),
	)
	if err != nil {
		return err // the records are kept for another attempt
	}
	dirs := []string{l.State(), runDir}
	if purge {
		dirs = append(dirs, l.Bin())
	}
	for _, dir := range dirs {
		if err := removeAll(dir); err != nil {
			return err
		}
	}
	return nil
}

// killAll finds the processes in three ways: by their cgroup, by the records, and by what they run. The cgroup alone is
// sufficient unless a process was moved.
func (l Layout) killAll(ctx context.Context) error {
	if err := rootGroup.Kill(ctx); err != nil {
		return err
	}
	for _, record := range (process.Table{Dir: l.processDir()}).All() {
		if err := record.ID.Kill(ctx); err != nil {
			return fmt.Errorf("ending %s: %w", record.Name, err)
		}
	}
	for _, found := range l.processes() {
		if err := found.ID.Kill(ctx); err != nil {
			return err
		}
	}
	return nil
}

func removeBridges(ctx context.Context) error {
	var errs []error
	for _, name := range host.Bridges(bridgePrefix) {
		errs = append(errs, host.Bridge{Name: name}.Remove(ctx))
	}
	return errors.Join(errs...)
}

func (l Layout) removeRules(ctx context.Context) error {
	err := apiRedirect().Remove(ctx)
	if l.hadProxy() {
		err = errors.Join(err, removeProxyTables(ctx))
	}
	return err
}

// undoChanges continues if it cannot read the records, because keeping the testbed up would not restore them.
func (l Layout) undoChanges(progress io.Writer) error {
	changes, err := host.Load(l.changesFile())
	if errors.Is(err, os.ErrNotExist) {
		return nil // changes are recorded before the first one is made
	}
	if err != nil {
		fmt.Fprintf(progress, "kernel settings cannot be restored: %v\n", err)
		return nil
	}
	return changes.Undo()
}
