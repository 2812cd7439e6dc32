package framework

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// Patience is how long to wait for a state that is reached within seconds on an idle machine. It limits how
	// long a failing test runs.
	Patience = 5 * time.Minute
	every    = 20 * time.Millisecond
)

// Until calls ask until it returns nil. After Patience, or when ctx is done, it returns the last error from ask.
func Until(ctx context.Context, what string, ask func(context.Context) error) error {
	return UntilEvery(ctx, what, every, Patience, ask)
}

// UntilEvery is like Until with a custom interval and limit.
func UntilEvery(ctx context.Context, what string, interval, limit time.Duration, ask func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, interval, limit, true, func(ctx context.Context) (bool, error) {
		err := ask(ctx)
		if ctx.Err() == nil || last == nil { // an error caused by the time limit says nothing about the state
			last = err
		}
		return err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("waiting until %s: %w", what, last)
	}
	return nil
}

// Pause waits for d, or until ctx is done.
func Pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
