package leader

import (
	"testing"
	"time"
)

func TestReplacementDelayGrows(t *testing.T) {
	last := time.Unix(1000, 0)
	for created, want := range []time.Duration{0, 1, 2, 4, 8, 16, 30, 30} {
		due := replacements{created: created, last: last}.due()
		if created == 0 && !due.IsZero() || created > 0 && due.Sub(last) != want*time.Second {
			t.Errorf("after %d pods, the next one is due at %s, want %ds after the last", created, due, want)
		}
	}
}
