package quota

import (
	"errors"
	"testing"
)

func TestAddRefusesWhatWouldExceedTheLimitsOfTheJob(t *testing.T) {
	limits := Limits{Keys: 2, Bytes: 3*overhead + 10}
	for name, c := range map[string]struct {
		before, now Usage
		want        error
	}{
		"a second key fits":                        {Usage{}, Cost("b", 1), nil},
		"a second key that is too large":           {Usage{}, Cost("b", 3*overhead), ErrExceeded},
		"the key that is there grows too large":    {Cost("a", 1), Cost("a", 4*overhead), ErrExceeded},
		"the key that is there shrinks":            {Cost("a", 1), Cost("a", 0), nil},
		"a second key of which nothing is counted": {Usage{}, Usage{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := NewBook(limits)
			if err := b.Add("job", Usage{}, Cost("a", 1)); err != nil {
				t.Fatal(err)
			}
			was := b.Total()
			err := b.Add("job", c.before, c.now)
			if !errors.Is(err, c.want) {
				t.Fatalf("got %v, want %v", err, c.want)
			}
			if c.want != nil && b.Total() != was {
				t.Errorf("a refused change was booked: %v, before %v", b.Total(), was)
			}
		})
	}
}

func TestOneJobsKeysLeaveTheOthersRoom(t *testing.T) {
	b := NewBook(Limits{Keys: 1})
	for _, job := range []string{"a", "b"} {
		if err := b.Add(job, Usage{}, Cost("k", 1)); err != nil {
			t.Error(err)
		}
	}
	if err := b.Add("a", Usage{}, Cost("l", 1)); !errors.Is(err, ErrExceeded) {
		t.Errorf("got %v", err)
	}
	b.Remove("a", Cost("k", 1))
	if err := b.Add("a", Usage{}, Cost("l", 1)); err != nil {
		t.Error(err)
	}
	if b.Total().Keys != 2 {
		t.Errorf("total %v", b.Total())
	}
}
