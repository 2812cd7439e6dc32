package flat

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/quota"
)

func filled(t *testing.T, pairs ...string) *Store {
	t.Helper()
	s := New(quota.Limits{})
	for i := 0; i < len(pairs); i += 2 {
		if err := s.Set("job", pairs[i], []byte(pairs[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func TestCompareAndSet(t *testing.T) {
	for name, c := range map[string]struct {
		store             []string
		expected, desired string
		want, stored      string
	}{
		"a missing key of which nothing is expected is written":      {nil, "", "v", "v", "v"},
		"a missing key of which something is expected stays missing": {nil, "x", "v", "x", ""},
		"a value as expected is replaced":                            {[]string{"k", "x"}, "x", "v", "v", "v"},
		"another value stays and is told":                            {[]string{"k", "y"}, "x", "v", "y", "y"},
		"a value where nothing is expected stays":                    {[]string{"k", "y"}, "", "v", "y", "y"},
		"an empty value where nothing is expected is replaced":       {[]string{"k", ""}, "", "v", "v", "v"},
	} {
		t.Run(name, func(t *testing.T) {
			s := filled(t, c.store...)
			got, err := s.CompareAndSet("job", "k", []byte(c.expected), []byte(c.desired))
			if stored, _ := s.Get("k"); err != nil || string(got) != c.want || string(stored) != c.stored {
				t.Errorf("answered %q, stored %q, error %v; want %q, %q", got, stored, err, c.want, c.stored)
			}
		})
	}
}

func TestAdd(t *testing.T) {
	s := filled(t, "word", "x")
	for i, want := range []int64{5, 3, 3} {
		if got, err := s.Add("job", "n", []int64{5, -2, 0}[i]); got != want || err != nil {
			t.Errorf("step %d: %d, %v; want %d", i, got, err, want)
		}
	}
	if v, _ := s.Get("n"); string(v) != "3" {
		t.Errorf("stored as %q", v)
	}
	if _, err := s.Add("job", "word", 1); !errors.Is(err, ErrNoNumber) {
		t.Errorf("adding to a word: %v", err)
	}
}

func TestAppend(t *testing.T) {
	s := New(quota.Limits{})
	for range 2 {
		if err := s.Append("job", "k", []byte("ab"), 4); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Append("job", "k", []byte("c"), 4); !errors.Is(err, quota.ErrExceeded) {
		t.Errorf("beyond the limit: %v", err)
	}
	if v, _ := s.Get("k"); string(v) != "abab" {
		t.Errorf("stored %q", v)
	}
}

func TestWaitEndsWithTheLastKey(t *testing.T) {
	s := filled(t, "a", "1")
	ready := 0
	if _, err := s.Wait([]string{"a", "b", "c", "b"}, func() { ready++ }); err != nil {
		t.Fatal(err)
	}
	for i, key := range []string{"b", "b", "other", "c", "c"} {
		want := 0
		if i >= 3 {
			want = 1
		}
		if err := s.Set("job", key, nil); err != nil {
			t.Fatal(err)
		}
		if ready != want {
			t.Errorf("after %d writes ready was called %d times, want %d", i+1, ready, want)
		}
	}
	if s.Waits() != 0 || len(s.waiting) != 0 {
		t.Errorf("%d waits are left: %v", s.Waits(), s.waiting)
	}
}

func TestWaitForWhatIsThereEndsAtOnce(t *testing.T) {
	s := filled(t, "a", "1")
	ready := false
	w, err := s.Wait([]string{"a"}, func() { ready = true })
	if err != nil || !ready {
		t.Errorf("ready %v, error %v", ready, err)
	}
	s.Cancel(w)
	if s.Waits() != 0 {
		t.Errorf("%d waits are left", s.Waits())
	}
}

func TestACancelledWaitStaysQuietAndLeavesNothing(t *testing.T) {
	s := New(quota.Limits{})
	w, err := s.Wait([]string{"a", "b"}, func() { t.Error("ready was called") })
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Set("job", "a", nil); err != nil {
		t.Fatal(err)
	}
	s.Cancel(w)
	s.Cancel(w)
	s.Cancel(nil)
	if err := s.Set("job", "b", nil); err != nil {
		t.Fatal(err)
	}
	if s.Waits() != 0 || len(s.waiting) != 0 {
		t.Errorf("%d waits are left: %v", s.Waits(), s.waiting)
	}
}

func TestWaitsAreBounded(t *testing.T) {
	s := New(quota.Limits{})
	s.waits = maxWaits
	if _, err := s.Wait([]string{"a"}, func() {}); !errors.Is(err, ErrWaitLimit) {
		t.Errorf("got %v", err)
	}
}

func TestARefusedWriteChangesNothing(t *testing.T) {
	s := New(quota.Limits{Keys: 1})
	if err := s.Set("job", "a", []byte("1")); err != nil {
		t.Fatal(err)
	}
	if err := s.Set("job", "b", nil); !errors.Is(err, quota.ErrExceeded) {
		t.Errorf("got %v", err)
	}
	if s.Has([]string{"b"}) || s.Usage().Keys != 1 {
		t.Errorf("the key is there; usage %v", s.Usage())
	}
}

func TestSweepTakesTheObsoleteKeysOfOneJob(t *testing.T) {
	s := New(quota.Limits{})
	for _, job := range []string{"a", "b"} {
		for round := range 3 {
			if err := s.Set(job, fmt.Sprintf("/%s.%d/x", job, round), nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := s.Sweep("a", func(key string) bool { return !strings.Contains(key, ".2/") }); n != 2 {
		t.Errorf("swept %d", n)
	}
	if len(s.Keys("a")) != 1 || len(s.Keys("b")) != 3 || s.Usage().Keys != 4 {
		t.Errorf("left %v", s.entries)
	}
	if s.Delete("/a.2/x") != true || s.Delete("/a.2/x") != false {
		t.Error("a key can be deleted once")
	}
}
