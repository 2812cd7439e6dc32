package elasticjob

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
)

// doSome requests n calls, of which the first `failing` fail, and returns how many were made.
func doSome(t *testing.T, n, failing int) (done int32, err error) {
	t.Helper()
	items := make([]int, n)
	for i := range items {
		items[i] = i
	}
	var count atomic.Int32
	err = inParallel(t.Context(), items, func(ctx context.Context, i int) error {
		count.Add(1)
		if i < failing {
			return errors.New("no")
		}
		return ctx.Err()
	})
	return count.Load(), err
}

func TestInParallelContinuesAfterAnError(t *testing.T) {
	if done, err := doSome(t, 100, 1); done != 100 || err == nil || err.Error() != "no" {
		t.Errorf("done %d: %v", done, err)
	}
	if done, err := doSome(t, 100, 0); done != 100 || err != nil {
		t.Errorf("done %d: %v", done, err)
	}
}

func TestInParallelStopsAfterManyErrors(t *testing.T) {
	if done, err := doSome(t, 500, 500); done < maxParallel || done >= 2*maxParallel || err == nil {
		t.Errorf("done %d: %v", done, err)
	}
}
