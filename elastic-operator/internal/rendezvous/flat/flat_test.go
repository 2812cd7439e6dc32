package flat

import (
	"errors"
	"testing"
)

func filled(t *testing.T, pairs ...string) *Store {
	t.Helper()
	s := New(Usage{})
	for i := 0; i < len(pairs); i += 2 {
		if err := s.Set(pairs[i], []byte(pairs[i+1])); err != nil {
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
		"a missing key is written if the expected value is empty":   {nil, "", "v", "v", "v"},
		"a missing key stays missing if a value is expected":        {nil, "x", "v", "x", ""},
		"the expected value is replaced":                            {[]string{"k", "x"}, "x", "v", "v", "v"},
		"a different value is kept and returned":                    {[]string{"k", "y"}, "x", "v", "y", "y"},
		"a value is kept if the expected value is empty":            {[]string{"k", "y"}, "", "v", "y", "y"},
		"an empty value is replaced if the expected value is empty": {[]string{"k", ""}, "", "v", "v", "v"},
	} {
		t.Run(name, func(t *testing.T) {
			s := filled(t, c.store...)
			got, err := s.CompareAndSet("k", []byte(c.expected), []byte(c.desired))
			if stored, _ := s.Get("k"); err != nil || string(got) != c.want || string(stored) != c.stored {
				t.Errorf("returned %q, stored %q, error %v; want %q, %q", got, stored, err, c.want, c.stored)
			}
		})
	}
}

func TestAdd(t *testing.T) {
	s := filled(t, "word", "x")
	for i, want := range []int64{5, 3, 3} {
		if got, err := s.Add("n", []int64{5, -2, 0}[i]); got != want || err != nil {
			t.Errorf("step %d: %d, %v; want %d", i, got, err, want)
		}
	}
	if v, _ := s.Get("n"); string(v) != "3" {
		t.Errorf("stored as %q", v)
	}
	if _, err := s.Add("word", 1); !errors.Is(err, ErrNoNumber) {
		t.Errorf("adding to a word: %v", err)
	}
}

func TestAppend(t *testing.T) {
	s := New(Usage{})
	for range 2 {
		if err := s.Append("k", []byte("ab"), 4); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Append("k", []byte("c"), 4); !errors.Is(err, ErrFull) {
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
		if err := s.Set(key, nil); err != nil {
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

func TestWaitForExistingKeysEndsImmediately(t *testing.T) {
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

func TestCancelledWaitIsRemoved(t *testing.T) {
	s := New(Usage{})
	w, err := s.Wait([]string{"a", "b"}, func() { t.Error("ready was called") })
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Set("a", nil); err != nil {
		t.Fatal(err)
	}
	s.Cancel(w)
	s.Cancel(w)
	s.Cancel(nil)
	if err := s.Set("b", nil); err != nil {
		t.Fatal(err)
	}
	if s.Waits() != 0 || len(s.waiting) != 0 {
		t.Errorf("%d waits are left: %v", s.Waits(), s.waiting)
	}
}

func TestWaitsAreLimited(t *testing.T) {
	s := New(Usage{})
	s.waits = maxWaits
	if _, err := s.Wait([]string{"a"}, func() {}); !errors.Is(err, ErrWaitLimit) {
		t.Errorf("got %v", err)
	}
}

func TestRejectedWriteChangesNothing(t *testing.T) {
	s := New(Usage{Keys: 1})
	if err := s.Set("a", []byte("1")); err != nil {
		t.Fatal(err)
	}
	if err := s.Set("b", nil); !errors.Is(err, ErrFull) {
		t.Errorf("got %v", err)
	}
	if s.Has([]string{"b"}) || s.Used().Keys != 1 {
		t.Errorf("the key was written; usage %v", s.Used())
	}
}

func TestDeletedKeysAreNotUsed(t *testing.T) {
	s := filled(t, "a", "1", "b", "2")
	if s.Delete("a") != true || s.Delete("a") != false {
		t.Error("Delete must return true once, and then false")
	}
	if len(s.Keys()) != 1 || s.Used().Keys != 1 {
		t.Errorf("remaining keys %v", s.values)
	}
	s.Delete("b")
	if s.Used() != (Usage{}) {
		t.Errorf("an empty store uses %+v", s.Used())
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
		"a second key that is too large":         {"b", big, ErrFull},
		"an existing key grows too large":        {"a", append(big, big...), ErrFull},
		"an existing key shrinks":                {"a", nil, nil},
		"an existing key grows within the limit": {"a", []byte("12345"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(Usage{Keys: 2, Bytes: 3*overhead + 10})
			if err := s.Set("a", []byte("1")); err != nil {
				t.Fatal(err)
			}
			was := s.Used()
			err := s.Set(c.key, c.value)
			if !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if err != nil && s.Used() != was {
				t.Errorf("a rejected write changed the usage from %+v to %+v", was, s.Used())
			}
		})
	}
}
