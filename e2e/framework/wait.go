package framework

import (
	"context"
	"fmt"
	"time"
)

const (
	// Patience is how long a state is waited for that comes within seconds on a machine at rest. It bounds how long a test
	// that has failed goes on, and says nothing about how fast anything is.
	Patience = 5 * time.Minute
	every    = 20 * time.Millisecond
)

// Until asks until the answer is good. When patience or ctx ends, it returns the last bad answer.
func Until(ctx context.Context, what string, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	for {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting until %s: %w", what, err)
		case <-time.After(every):
		}
	}
}
