package framework

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestUntilReturnsTheLastErrorAtTheLimit(t *testing.T) {
	first, second := errors.New("first"), errors.New("second")
	calls := 0
	err := UntilEvery(t.Context(), "it holds", time.Millisecond, 50*time.Millisecond, func(context.Context) error {
		if calls++; calls == 1 {
			return first
		}
		return second
	})
	if !errors.Is(err, second) || errors.Is(err, first) {
		t.Errorf("error %v, want the last one", err)
	}
}

func TestUntilChecksImmediatelyAndEndsWithTheFirstSuccess(t *testing.T) {
	calls := 0
	err := UntilEvery(t.Context(), "it holds", time.Hour, 2*time.Hour, func(context.Context) error { calls++; return nil })
	if err != nil || calls != 1 {
		t.Errorf("error %v after %d calls, want one call", err, calls)
	}
}

func TestUntilEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	failed := errors.New("not yet")
	err := UntilEvery(ctx, "it holds", time.Millisecond, time.Hour, func(context.Context) error { cancel(); return failed })
	if !errors.Is(err, failed) {
		t.Errorf("error %v, want the last one", err)
	}
}
