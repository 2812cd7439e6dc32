// Package parallel calls a function for many items with limited concurrency.
package parallel

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
)

const (
	// width limits the concurrent API calls of one caller.
	width = 50
	// errorsShown limits how many errors of one batch are listed, because thousands of Jobs may fail with the same
	// error.
	errorsShown = 5
)

// Do calls do for all items, at most 50 at a time, and joins the errors. A failed item does not stop the others.
func Do[T any](ctx context.Context, items []T, do func(context.Context, T) error) error {
	return Join(Each(ctx, items, do))
}

// Each is like Do, but returns one error or nil for each item.
func Each[T any](ctx context.Context, items []T, do func(context.Context, T) error) []error {
	var group errgroup.Group
	group.SetLimit(width)
	errs := make([]error, len(items))
	for i, item := range items {
		group.Go(func() error {
			errs[i] = do(ctx, item)
			return nil
		})
	}
	_ = group.Wait()
	return errs
}

// Join joins errors and lists the first five of them.
func Join(errs []error) error {
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if hidden := len(errs) - errorsShown; hidden > 0 {
		errs = append(errs[:errorsShown], fmt.Errorf("and %d more", hidden))
	}
	return errors.Join(errs...)
}
