package server

import (
	"errors"
	"math"
	"testing"
)

func filled(t *testing.T, pairs ...string) *store {
	t.Helper()
	s := newStore(math.MaxInt64)
	for i := 0; i < len(pairs); i += 2 {
		if err := s.set(pairs[i], []byte(pairs[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func TestStoreComparesAndSets(t *testing.T) {
	for name, c := range map[string]struct {
		store             []string
		expected, desired string
		want, stored      string
	}{
		"a missing key is written if the expected value is empty":   {nil, "", "v", "v", "v"},
		"a missing key stays missing if a value is expected":        {nil, "x", "v", "x", ""},
		"the expected value is replaced":                            {[]string{"k", "x"}, "x", "v", "v", "v"},
		"a different value is kept and returned":                    {[]string{"k", "y"}, "x", "v", "y", "y"},
		"a value is kept if the expected value is empty":            {[]string{"k", "y"}, "", "v", "y", "y"},
		"an empty value is replaced if the expected value is empty": {[]string{"k", ""}, "", "v", "v", "v"},
	} {
		t.Run(name, func(t *testing.T) {
			s := filled(t, c.store...)
			got, err := s.compareAndSet("k", []byte(c.expected), []byte(c.desired))
			if stored := s.values["k"]; err != nil || string(got) != c.want || string(stored) != c.stored {
				t.Errorf("returned %q, stored %q, error %v; want %q, %q", got, stored, err, c.want, c.stored)
			}
		})
	}
}

func TestStoreAdds(t *testing.T) {
	s := filled(t, "word", "x")
	for i, want := range []int64{5, 3, 3} {
		if got, err := s.add("n", []int64{5, -2, 0}[i]); got != want || err != nil {
			t.Errorf("step %d: %d, %v; want %d", i, got, err, want)
		}
	}
	if v := s.values["n"]; string(v) != "3" {
		t.Errorf("stored as %q", v)
	}
	if _, err := s.add("word", 1); !errors.Is(err, errNoNumber) {
		t.Errorf("adding to a word: %v", err)
	}
}

func TestWaitEndsWithTheLastKey(t *testing.T) {
	s := filled(t, "a", "1")
	ready := 0
	if _, err := s.wait([]string{"a", "b", "c", "b"}, func() { ready++ }); err != nil {
		t.Fatal(err)
	}
	for i, key := range []string{"b", "b", "other", "c", "c"} {
		want := 0
		if i >= 3 {
			want = 1
		}
		if err := s.set(key, nil); err != nil {
			t.Fatal(err)
		}
		if ready != want {
			t.Errorf("after %d writes ready was called %d times, want %d", i+1, ready, want)
		}
	}
	if s.waits != 0 || len(s.waiting) != 0 {
		t.Errorf("%d waits are left: %v", s.waits, s.waiting)
	}
}

func TestWaitForExistingKeysEndsImmediately(t *testing.T) {
	s := filled(t, "a", "1")
	ready := false
	w, err := s.wait([]string{"a"}, func() { ready = true })
	if err != nil || !ready {
		t.Errorf("ready %v, error %v", ready, err)
	}
	s.cancel(w)
	if s.waits != 0 {
		t.Errorf("%d waits are left", s.waits)
	}
}

func TestCancelledWaitIsRemoved(t *testing.T) {
	s := newStore(math.MaxInt64)
	w, err := s.wait([]string{"a", "b"}, func() { t.Error("ready was called") })
	if err != nil {
		t.Fatal(err)
	}
	if err := s.set("a", nil); err != nil {
		t.Fatal(err)
	}
	s.cancel(w)
	s.cancel(w)
	s.cancel(nil)
	if err := s.set("b", nil); err != nil {
		t.Fatal(err)
	}
	if s.waits != 0 || len(s.waiting) != 0 {
		t.Errorf("%d waits are left: %v", s.waits, s.waiting)
	}
}

func TestWaitsAreLimited(t *testing.T) {
	s := newStore(math.MaxInt64)
	s.waits = maxWaits
	if _, err := s.wait([]string{"a"}, func() {}); !errors.Is(err, errWaitLimit) {
		t.Errorf("got %v", err)
	}
}

func TestRejectedWriteChangesNothing(t *testing.T) {
	s := newStore(cost("a", []byte("1")))
	if err := s.set("a", []byte("1")); err != nil {
		t.Fatal(err)
	}
	used := s.used
	if err := s.set("b", nil); !errors.Is(err, errFull) {
		t.Errorf("got %v", err)
	}
	if len(s.missing([]string{"a", "b"})) != 1 || s.used != used {
		t.Errorf("the key was written; usage %d", s.used)
	}
}

func TestDeletedKeysAreNotUsed(t *testing.T) {
	s := filled(t, "a", "1", "b", "2")
	s.delete("a")
	s.delete("a")
	if len(s.values) != 1 || s.used != cost("b", []byte("2")) {
		t.Errorf("remaining keys %v, usage %d", s.values, s.used)
	}
	s.delete("b")
	if s.used != 0 {
		t.Errorf("an empty store uses %d bytes", s.used)
	}
}

func TestSetRejectsWritesBeyondTheLimits(t *testing.T) {
	big := make([]byte, 3*overhead)
	for name, c := range map[string]struct {
		key   string
		value []byte
		want  error
	}{
		"a second key fits":                      {"b", []byte("1"), nil},
		"a second key that is too large":         {"b", big, errFull},
		"an existing key grows too large":        {"a", append(big, big...), errFull},
		"an existing key shrinks":                {"a", nil, nil},
		"an existing key grows within the limit": {"a", []byte("12345"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(3*overhead + 10)
			if err := s.set("a", []byte("1")); err != nil {
				t.Fatal(err)
			}
			was := s.used
			err := s.set(c.key, c.value)
			if !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if err != nil && s.used != was {
				t.Errorf("a rejected write changed the usage from %d to %d", was, s.used)
			}
		})
	}
}
