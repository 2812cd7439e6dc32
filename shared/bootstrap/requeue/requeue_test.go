package requeue

import (
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
)

func TestSoonest(t *testing.T) {
	for _, c := range []struct{ a, b, want time.Duration }{{0, 0, 0}, {0, 3, 3}, {2, 0, 2}, {2, 3, 2}, {4, 1, 1}, {-1, 0, 0}, {-1, 3, 3}} {
		if got := Soonest(c.a, c.b); got != c.want {
			t.Errorf("of %d and %d: %d", c.a, c.b, got)
		}
	}
}

func TestOnError(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{}, "a", errors.New("changed"))
	missing := apierrors.NewNotFound(schema.GroupResource{}, "a")
	refused := errors.New("refused")
	for name, c := range map[string]struct {
		err, want error
		after     time.Duration
	}{
		"none":              {},
		"a conflict":        {fmt.Errorf("writing: %w", conflict), nil, Stale},
		"a deleted object":  {fmt.Errorf("writing: %w", missing), nil, 0},
		"any other problem": {refused, refused, 0},
	} {
		if result, err := OnError(c.err); result != (ctrl.Result{RequeueAfter: c.after}) || !errors.Is(err, c.want) {
			t.Errorf("%s: %v, %v", name, result, err)
		}
	}
}
