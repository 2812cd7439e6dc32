package recovering

import (
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func TestFormat(t *testing.T) {
	s := State{LevelGroup, `worker "a" exited`, noon.Add(time.Millisecond)}
	want := `{"level":2,"reason":"worker \"a\" exited","deadline":"2026-01-02T12:00:01Z"}`
	if got := s.Format(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	back, err := Parse(want)
	if err != nil || back != (State{LevelGroup, s.Reason, noon.Add(time.Second)}) {
		t.Errorf("%+v, %v", back, err)
	}
}

func TestParse(t *testing.T) {
	cases := map[string]struct{ value, problem string }{
		"a later version's field is ignored": {`{"level":1,"deadline":"2026-01-02T12:00:00+01:00","by":"x"}`, ""},
		"no JSON":                            {`2`, "cannot unmarshal"},
		"nothing":                            {``, "unexpected end"},
		"no deadline":                        {`{"level":2,"reason":"x"}`, "deadline is missing"},
		"a deadline that is not a time":      {`{"level":2,"deadline":"soon"}`, "parsing time"},
		"level 0":                            {`{"level":0,"deadline":"2026-01-02T12:00:00Z"}`, "level 0"},
		"a level above the maximum":          {`{"level":100,"deadline":"2026-01-02T12:00:00Z"}`, "level 100"},
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
	on := func(level int, deadline time.Time) map[string]string {
		return map[string]string{Annotation: State{level, "x", deadline}.Format()}
	}
	now := noon.Add(-time.Minute)
	cases := map[string]struct {
		objects []map[string]string
		want    time.Time
	}{
		"no recovery is in progress":                        {[]map[string]string{nil, {}}, time.Time{}},
		"a lower level handles the fault":                   {[]map[string]string{on(LevelProcess, noon)}, noon},
		"a higher level replaces all pods":                  {[]map[string]string{nil, on(LevelReset, noon)}, noon},
		"the same level does not wait for itself":           {[]map[string]string{on(LevelMove, noon)}, time.Time{}},
		"the latest deadline counts":                        {[]map[string]string{on(LevelGroup, noon), on(LevelReset, noon.Add(time.Hour))}, noon.Add(time.Hour)},
		"a deadline that has passed blocks no program":      {[]map[string]string{on(LevelGroup, now)}, time.Time{}},
		"an unreadable annotation blocks no program":        {[]map[string]string{{Annotation: "soon"}}, time.Time{}},
		"a deadline that has passed does not hide another":  {[]map[string]string{on(LevelGroup, now), on(LevelRecreate, noon)}, noon},
		"a deadline at the maximum":                         {[]map[string]string{on(LevelGroup, now.Add(Maximum))}, now.Add(Maximum)},
		"a deadline in 2075 is ignored":                     {[]map[string]string{on(LevelGroup, noon.AddDate(49, 0, 0))}, time.Time{}},
		"a level of a later version counts like the others": {[]map[string]string{on(42, noon)}, noon},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Until(LevelMove, now, tc.objects...); !got.Equal(tc.want) {
				t.Errorf("until %s, want %s", got, tc.want)
			}
		})
	}
}

func TestPlaceAndRelease(t *testing.T) {
	now := noon.Add(-time.Minute)
	mine := State{LevelRecreate, "mine", noon}
	cases := map[string]struct {
		there        string
		now          time.Time
		write, leave bool // leave means that another level must remove the annotation
	}{
		"there is no annotation yet":                {"", now, true, true},
		"the annotation is already set":             {mine.Format(), now, false, false},
		"the deadline changes":                      {State{LevelRecreate, "mine", now}.Format(), now, true, false},
		"a lower level has timed out":               {State{LevelProcess, "x", noon}.Format(), now, true, true},
		"a higher level is in progress":             {State{LevelReset, "x", noon}.Format(), now, false, true},
		"a higher level with a deadline in 2075":    {State{LevelReset, "x", noon.AddDate(49, 0, 0)}.Format(), now, true, true},
		"the deadline of a higher level has passed": {State{LevelReset, "x", noon}.Format(), noon, true, true},
		"an unreadable annotation is overwritten":   {"soon", now, true, true},
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
			if got := Release(annotations, LevelRecreate); got == tc.leave {
				t.Errorf("Release = %v", got)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add(State{LevelGroup, "x", noon}.Format())
	f.Add(`{"level":1e9}`)
	f.Fuzz(func(t *testing.T, value string) {
		s, err := Parse(value)
		if err != nil {
			return
		}
		if again, err := Parse(s.Format()); err != nil || again.Level != s.Level || again.Deadline.Before(s.Deadline) {
			t.Errorf("%q is %+v, and then %+v, %v", value, s, again, err)
		}
	})
}
