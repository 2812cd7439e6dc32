package valkey

import (
	"testing"
	"time"
)

func TestPause(t *testing.T) {
	least := func(int64) int64 { return 0 }
	most := func(n int64) int64 { return n - 1 }
	cases := map[string]struct {
		attempt  int
		from, to time.Duration
	}{
		"the first retry comes after 50 to 250 ms": {0, 50 * time.Millisecond, 250 * time.Millisecond},
		"the range doubles":                        {1, 50 * time.Millisecond, 450 * time.Millisecond},
		"and doubles":                              {3, 50 * time.Millisecond, 1650 * time.Millisecond},
		"up to the longest pause":                  {9, 50 * time.Millisecond, 5 * time.Second},
		"for ever":                                 {1 << 40, 50 * time.Millisecond, 5 * time.Second},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := pause(tc.attempt, 5*time.Second, least); got != tc.from {
				t.Errorf("least %v, want %v", got, tc.from)
			}
			if got := pause(tc.attempt, 5*time.Second, most); got != tc.to-1 {
				t.Errorf("most %v, want %v", got, tc.to-1)
			}
		})
	}
}

func TestJittered(t *testing.T) {
	for range 1000 {
		if d := jittered(30 * time.Second); d < 15*time.Second || d >= 30*time.Second {
			t.Fatalf("%v is not within 15 to 30 s", d)
		}
	}
}
