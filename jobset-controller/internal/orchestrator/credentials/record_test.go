package credentials

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	then = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	old  = hashOf("old")
)

const maxAge = 24 * time.Hour

func TestNext(t *testing.T) {
	record := func(change func(*Record)) *Record {
		r := &Record{Hashes: []string{old}, Since: then}
		change(r)
		return r
	}
	two := func(r *Record) { r.Hashes = []string{hashOf("new"), old} }
	for name, tc := range map[string]struct {
		record  *Record
		request string
		after   time.Duration
		maxAge  time.Duration
		want    Step
	}{
		"no record yet":       {nil, "", 0, maxAge, Renew},
		"a fresh one is kept": {record(func(*Record) {}), "", time.Hour, maxAge, Keep},
		"one that has reached the maximum age is replaced": {record(func(*Record) {}), "", 24 * time.Hour, maxAge, Renew},
		"without a maximum age it is kept":                 {record(func(*Record) {}), "", 24000 * time.Hour, 0, Keep},
		"a pending one is replaced":                        {record(func(r *Record) { r.Pending = true }), "", time.Second, maxAge, Renew},
		"a request is followed":                            {record(func(*Record) {}), "1", time.Second, maxAge, Renew},
		"once":                                             {record(func(r *Record) { r.Request = "1" }), "1", time.Second, maxAge, Keep},
		"and its removal too":                              {record(func(r *Record) { r.Request = "1" }), "", time.Second, maxAge, Renew},
		"two are valid during the overlap":                 {record(two), "", 9 * time.Minute, maxAge, Keep},
		"and then one":                                     {record(two), "", 10 * time.Minute, maxAge, Retire},
		"not while the newest is pending":                  {record(func(r *Record) { two(r); r.Pending = true }), "", time.Hour, maxAge, Renew},
		"a revoked one stays revoked":                      {record(func(r *Record) { *r = r.revoked("w") }), "", 48 * time.Hour, maxAge, Keep},
		"until a new one is requested":                     {record(func(r *Record) { *r = r.revoked("w") }), "again", time.Second, maxAge, Renew},
		"a clock that was set back has no effect":          {record(two), "", -time.Hour, maxAge, Keep},
		"one with a zero time is replaced":                 {record(func(r *Record) { r.Since = time.Time{} }), "", 0, maxAge, Renew},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Next(tc.record, tc.request, "", then.Add(tc.after), tc.maxAge); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}

// A leader that dies between two steps leaves passwords that pods may have read. They stay valid for some time.
func TestValidPasswordsStayValid(t *testing.T) {
	var r *Record
	for n, password := range []string{"1", "2", "3", "4"} {
		next := r.with(hashOf(password), "", then)
		if next.Hashes[0] != hashOf(password) || !next.Pending {
			t.Errorf("%d: %+v", n, next)
		}
		if n > 0 && next.Hashes[1] != r.Hashes[0] {
			t.Errorf("%d: the previous password is not valid: %+v", n, next)
		}
		r = &next
	}
	if len(r.Hashes) != maxHashes {
		t.Errorf("%d are valid, want %d", len(r.Hashes), maxHashes)
	}
	if done := r.written("", then).retired(); done.Pending || len(done.Hashes) != 1 || done.Hashes[0] != hashOf("4") {
		t.Errorf("after the rotation: %+v", done)
	}
}

func TestPasswordDroppedFromAFullRecord(t *testing.T) {
	a, b, c := hashOf("a"), hashOf("b"), hashOf("c")
	for name, tc := range map[string]struct {
		record *Record
		want   []string // hashes that follow the new one
		held   string
	}{
		"no record yet":                                     {nil, nil, ""},
		"a first one that is pending":                       {&Record{Hashes: []string{a}, Pending: true}, []string{a}, a},
		"a record that is not full":                         {&Record{Hashes: []string{a, b}}, []string{a, b}, a},
		"the oldest, if the newest is held":                 {&Record{Hashes: []string{a, b, c}}, []string{a, b}, a},
		"the oldest, if the previous one is held":           {&Record{Hashes: []string{a, b, c}, Pending: true, Held: b}, []string{a, b}, b},
		"an attempt, if the oldest is held":                 {&Record{Hashes: []string{a, b, c}, Pending: true, Held: c}, []string{a, c}, c},
		"an attempt, if the record names no held one":       {&Record{Hashes: []string{a, b, c}, Pending: true}, []string{a, c}, c},
		"an attempt, if the record names an impossible one": {&Record{Hashes: []string{a, b, c}, Pending: true, Held: a}, []string{a, c}, c},
		"all of a revoked record":                           {&Record{Hashes: []string{}, Revoked: "why"}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := tc.record.with(hashOf("new"), "r", then)
			want := Record{Hashes: append([]string{hashOf("new")}, tc.want...), Since: then, Pending: true, Held: tc.held, Request: "r"}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if done := got.written("", then); done.Held != "" || done.Pending {
				t.Errorf("written: %+v", done)
			}
		})
	}
}

func TestRecordsRoundTrip(t *testing.T) {
	for _, want := range []Record{
		{Hashes: []string{old}, Since: then},
		{Hashes: []string{hashOf("new"), old}, Since: then, Pending: true, Held: old, Request: "r"},
		Record{Hashes: []string{old}, Since: then}.revoked("why"),
	} {
		got := Of(map[string]string{Annotation: want.Format()})
		if got == nil {
			t.Fatalf("%s cannot be parsed", want.Format())
		}
		if diff := cmp.Diff(want, *got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestInvalidRecords(t *testing.T) {
	for _, value := range []string{
		"", "x", "{}", "[]", "null", `{"hashes":[]}`, `{"hashes":["x"]}`, `{"hashes":["` + strings.ToUpper(old) + `"]}`,
		`{"hashes":["` + old + `","` + old + `","` + old + `","` + old + `"]}`, `{"hashes":["` + old + `"],"since":"soon"}`,
		`{"hashes":["` + old + ` +@all"]}`,
	} {
		if r := Of(map[string]string{Annotation: value}); r != nil {
			t.Errorf("%q is parsed as %+v", value, r)
		}
	}
	if r := Of(nil); r != nil {
		t.Errorf("a missing annotation is parsed as %+v", r)
	}
}

// Any value that is accepted is a list of hashes, and formatting it results in an equal record.
func FuzzRecord(f *testing.F) {
	f.Add(Record{Hashes: []string{old}, Since: then}.Format())
	f.Add(`{"hashes":[""]}`)
	f.Fuzz(checkRecord)
}

func checkRecord(t *testing.T, value string) {
	r := Of(map[string]string{Annotation: value})
	if r == nil {
		return
	}
	for _, h := range r.Valid() {
		if !hash.MatchString(h) {
			t.Errorf("%q gives the hash %q", value, h)
		}
	}
	again := Of(map[string]string{Annotation: r.Format()})
	if again == nil || !cmp.Equal(r.Hashes, again.Hashes) || r.Revoked != again.Revoked {
		t.Errorf("%q is parsed as %+v and, after formatting, as %+v", value, r, again)
	}
}

func TestMutatedRecords(t *testing.T) {
	good := []byte(Record{Hashes: []string{hashOf("new"), old}, Since: then, Pending: true, Request: "r"}.Format())
	r := rand.New(rand.NewPCG(1, 1))
	for range 5000 {
		b := append([]byte(nil), good...)
		for range 1 + r.IntN(3) {
			b[r.IntN(len(b))] = byte(r.IntN(256))
		}
		checkRecord(t, string(b))
	}
}
