package lab

import (
	"context"
	"fmt"
	"time"
)

const (
	patience = 120 * time.Second
	every    = 20 * time.Millisecond
)

// Until asks until the answer is good. After two minutes, or when ctx ends, it returns the last bad answer.
func Until(ctx context.Context, what string, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
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
