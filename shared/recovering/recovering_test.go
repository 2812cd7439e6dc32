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

func TestUntil(t *testing.T) {
	on := func(rung int, deadline time.Time) map[string]string {
		return map[string]string{Annotation: State{rung, "x", deadline}.Format()}
	}
	now := noon.Add(-time.Minute)
	cases := map[string]struct {
		objects []map[string]string
		want    time.Time
	}{
		"nobody is at work":                          {[]map[string]string{nil, {}}, time.Time{}},
		"a lower rung has the fault in hand":         {[]map[string]string{on(RungProcess, noon)}, noon},
		"a higher rung replaces it all":              {[]map[string]string{nil, on(RungReset, noon)}, noon},
		"the same rung does not wait for itself":     {[]map[string]string{on(RungMove, noon)}, time.Time{}},
		"the one that takes longest counts":          {[]map[string]string{on(RungGroup, noon), on(RungReset, noon.Add(time.Hour))}, noon.Add(time.Hour)},
		"whoever is out of time holds nobody up":     {[]map[string]string{on(RungGroup, now)}, time.Time{}},
		"what cannot be read holds nobody up":        {[]map[string]string{{Annotation: "soon"}}, time.Time{}},
		"one that is out of time hides no other":     {[]map[string]string{on(RungGroup, now), on(RungRecreate, noon)}, noon},
		"a deadline is as far ahead as it may be":    {[]map[string]string{on(RungGroup, now.Add(Maximum))}, now.Add(Maximum)},
		"a deadline in 2075 is not believed":         {[]map[string]string{on(RungGroup, noon.AddDate(49, 0, 0))}, time.Time{}},
		"a rung of a later version counts as others": {[]map[string]string{on(42, noon)}, noon},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Until(RungMove, now, tc.objects...); !got.Equal(tc.want) {
				t.Errorf("until %s, want %s", got, tc.want)
			}
		})
	}
}

func TestPlaceAndRelease(t *testing.T) {
	now := noon.Add(-time.Minute)
	mine := State{RungRecreate, "mine", noon}
	cases := map[string]struct {
		there        string
		now          time.Time
		write, leave bool // leave: another level has to remove it
	}{
		"nothing is said yet":                 {"", now, true, true},
		"the same is said already":            {mine.Format(), now, false, false},
		"the deadline moves":                  {State{RungRecreate, "mine", now}.Format(), now, true, false},
		"a lower rung has had its time":       {State{RungProcess, "x", noon}.Format(), now, true, true},
		"a higher rung is at work":            {State{RungReset, "x", noon}.Format(), now, false, true},
		"a higher rung says 2075":             {State{RungReset, "x", noon.AddDate(49, 0, 0)}.Format(), now, true, true},
		"a higher rung died":                  {State{RungReset, "x", noon}.Format(), noon, true, true},
		"what cannot be read is written over": {"soon", now, true, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			annotations := map[string]string{}
			if tc.there != "" {
				annotations[Annotation] = tc.there
			}
			value, write := Place(annotations, mine, tc.now)
			if write != tc.write || (write && value != mine.Format()) {
				t.Errorf("write %v %q, want %v", write, value, tc.write)
			}
			if got := Release(annotations, RungRecreate); got == tc.leave {
				t.Errorf("Release = %v", got)
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
