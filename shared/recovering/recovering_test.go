package recovering

import (
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func TestFormat(t *testing.T) {
	s := State{RungGroup, `worker "a" exited`, noon.Add(time.Millisecond)}
	want := `{"rung":2,"reason":"worker \"a\" exited","deadline":"2026-01-02T12:00:01Z"}`
	if got := s.Format(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	back, err := Parse(want)
	if err != nil || back != (State{RungGroup, s.Reason, noon.Add(time.Second)}) {
		t.Errorf("%+v, %v", back, err)
	}
}

func TestParse(t *testing.T) {
	cases := map[string]struct{ value, problem string }{
		"a later version's field is ignored": {`{"rung":1,"deadline":"2026-01-02T12:00:00+01:00","by":"x"}`, ""},
		"no JSON":                            {`2`, "cannot unmarshal"},
		"nothing":                            {``, "unexpected end"},
		"no deadline":                        {`{"rung":2,"reason":"x"}`, "RFC 3339"},
		"rung 0":                             {`{"rung":0,"deadline":"2026-01-02T12:00:00Z"}`, "rung 0"},
		"a rung beyond the ladder":           {`{"rung":100,"deadline":"2026-01-02T12:00:00Z"}`, "rung 100"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(tc.value)
			if (err == nil) != (tc.problem == "") || (err != nil && !strings.Contains(err.Error(), tc.problem)) {
				t.Errorf("error %v, want %q", err, tc.problem)
			}
		})
	}
}

func TestHolds(t *testing.T) {
	value := State{RungGroup, "x", noon}.Format()
	cases := map[string]struct {
		annotations map[string]string
		rung        int
		now         time.Time
		want        bool
	}{
		"a higher rung waits":                 {map[string]string{Annotation: value}, RungRecreate, noon.Add(-time.Second), true},
		"the same rung does not":              {map[string]string{Annotation: value}, RungGroup, noon.Add(-time.Second), false},
		"nobody waits past the deadline":      {map[string]string{Annotation: value}, RungRecreate, noon, false},
		"nobody waits without the annotation": {nil, RungRecreate, noon.Add(-time.Second), false},
		"nobody waits for what is unreadable": {map[string]string{Annotation: "soon"}, RungRecreate, noon.Add(-time.Second), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Holds(tc.annotations, tc.rung, tc.now); got != tc.want {
				t.Errorf("Holds = %v, want %v", got, tc.want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add(State{RungGroup, "x", noon}.Format())
	f.Add(`{"rung":1e9}`)
	f.Fuzz(func(t *testing.T, value string) {
		s, err := Parse(value)
		if err != nil {
			return
		}
		if again, err := Parse(s.Format()); err != nil || again.Rung != s.Rung || again.Deadline.Before(s.Deadline) {
			t.Errorf("%q is %+v, and then %+v, %v", value, s, again, err)
		}
	})
}
