package indexes

import (
	"slices"
	"testing"
)

func TestStringAndParse(t *testing.T) {
	for text, want := range map[string]Set{
		"":           nil,
		"0":          {0},
		"0-3":        {0, 1, 2, 3},
		"0-1,7":      {0, 1, 7},
		"2,4,6-8,10": {2, 4, 6, 7, 8, 10},
	} {
		got, err := Parse(text)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q is parsed as %v (%v), want %v", text, got, err, want)
		}
		if back := got.String(); back != text {
			t.Errorf("%v is formatted as %q, want %q", got, back, text)
		}
	}
}

func TestParseRejectsInvalidText(t *testing.T) {
	for _, text := range []string{"a", "-", "-1", "1-", "3-1", "0,,1", "0 ", "0-4294967295", "0-99999999", "0-99998,100000-199999"} {
		if s, err := Parse(text); err == nil {
			t.Errorf("%q is parsed as %d indexes", text, len(s))
		}
	}
}

func TestUnsortedTextIsSorted(t *testing.T) {
	if s, err := Parse("7,0-2,1"); err != nil || s.String() != "0-2,7" {
		t.Errorf("got %s (%v)", s, err)
	}
}

func TestSetOperations(t *testing.T) {
	s := Of(5, 1, 3, 1)
	if s.String() != "1,3,5" || !s.Has(3) || s.Has(2) || s.With(2).String() != "1-3,5" || s.With(3).String() != "1,3,5" {
		t.Errorf("got %s", s)
	}
	if got := s.Without(Of(3, 4)); got.String() != "1,5" || s.String() != "1,3,5" {
		t.Errorf("got %s of %s", got, s)
	}
	if got := s.Intersect(Of(3, 4, 5)); got.String() != "3,5" {
		t.Errorf("got %s", got)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "0-3,7", "9-1", "0,0,0", "1-2-3"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(s.String())
		if err != nil || !slices.Equal(s, again) {
			t.Errorf("%q: %v is parsed again as %v (%v)", text, s, again, err)
		}
	})
}
