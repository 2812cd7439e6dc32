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

// downTimeout bounds the wait for the kernel to let go of the last process.
const downTimeout = 3 * time.Minute

// Down ends the testbed and removes all it made but the built binaries; purge
// removes these too. It takes a testbed in any state, also one whose starter or
// processes were killed, and does nothing where there is none.
//
// Everything is killed at once rather than asked to end: all data goes anyway,
// and nothing can be restarted by a program that dies in the same moment.
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
	if err := checkOwner(layout); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, downTimeout)
	defer cancel()
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
	// What follows is independent of each other; one failure must not keep the
	// rest from being cleaned.
	err := errors.Join(
		removeBridges(ctx),
		l.removeRules(ctx),
		rootGroup.Remove(ctx),
		l.undoChanges(progress),
	)
	if err != nil {
		return err // the records stay for another try
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

// killAll finds the processes in three ways: by their cgroup, by the records and
// by what they run. The first alone is enough unless somebody moved a process.
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

// undoChanges goes on without records it cannot read: staying up would not bring
// them back.
func (l Layout) undoChanges(progress io.Writer) error {
	changes, err := host.Load(l.changesFile())
	if errors.Is(err, os.ErrNotExist) {
		return nil // nothing was changed before they were noted
	}
	if err != nil {
		fmt.Fprintf(progress, "kernel settings cannot be put back: %v\n", err)
		return nil
	}
	return changes.Undo()
}
