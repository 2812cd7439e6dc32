// Package parallel calls a function for many items, a limited number at a time.
package parallel

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"
)

const (
	// width limits the concurrent API calls of one caller.
	width = 50
	// errorsShown limits how many errors of one batch are listed, because thousands of Jobs fail with the same error.
	errorsShown = 5
)

// Do calls do for all items, at most fifty at a time, and joins the errors. A failed item does not stop the others.
func Do[T any](ctx context.Context, items []T, do func(context.Context, T) error) error {
	var group errgroup.Group
	group.SetLimit(width)
	var failures failureList
	for _, item := range items {
		group.Go(func() error {
			failures.add(do(ctx, item))
			return nil
		})
	}
	_ = group.Wait()
	return failures.join()
}

type failureList struct {
	mu     sync.Mutex
	errs   []error
	hidden int
}

func (f *failureList) add(err error) {
	if err == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.errs) == errorsShown {
		f.hidden++
		return
	}
	f.errs = append(f.errs, err)
}

func (f *failureList) join() error {
	if f.hidden > 0 {
		f.errs = append(f.errs, fmt.Errorf("and %d more", f.hidden))
	}
	return errors.Join(f.errs...)
}
