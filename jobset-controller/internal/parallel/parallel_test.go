package parallel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestDoCallsAtMostFiftyAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running, most, done atomic.Int64
		err := Do(t.Context(), make([]int, 3*width), func(context.Context, int) error {
			most.Store(max(most.Load(), running.Add(1)))
			time.Sleep(time.Second)
			running.Add(-1)
			done.Add(1)
			return nil
		})
		if err != nil || done.Load() != 3*width || most.Load() != width {
			t.Errorf("%d done, %d at a time, %v", done.Load(), most.Load(), err)
		}
	})
}

func TestFailedItemStopsNoOther(t *testing.T) {
	var done atomic.Int64
	wrong := errors.New("wrong")
	err := Do(t.Context(), slices.Repeat([]int{0, 1}, 10), func(_ context.Context, n int) error {
		done.Add(1)
		if n == 0 {
			return nil
		}
		return fmt.Errorf("item: %w", wrong)
	})
	if done.Load() != 20 || !errors.Is(err, wrong) {
		t.Fatalf("%d done, %v", done.Load(), err)
	}
	if want := strings.Repeat("item: wrong\n", errorsShown) + "and 5 more"; err.Error() != want {
		t.Errorf("got %q", err.Error())
	}
}
