package epoch

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	cases := map[string]struct {
		value   string
		want    Record
		problem string
	}{
		"a full record is read":                           {value: `{"epoch":2,"base":1,"recreate":2,"cause":"timeout/1/3"}`, want: Record{Epoch: 2, Base: 1, Recreate: 2, Cause: "timeout/1/3"}},
		"early failures are read":                         {value: `{"epoch":2,"base":3,"early":2}`, want: Record{Epoch: 2, Base: 3, Early: 2}},
		"a negative number of early failures is rejected": {value: `{"epoch":2,"early":-1}`, problem: "out of range"},
		"absent numbers are zero":                         {value: `{"epoch":1}`, want: Record{Epoch: 1}},
		"fields of later versions are ignored":            {value: `{"epoch":3,"later":{"x":[1]}}`, want: Record{Epoch: 3}},
		"the largest epoch is read":                       {value: `{"epoch":2147483647}`, want: Record{Epoch: math.MaxInt32}},
		"an empty value is rejected":                      {value: ``, problem: "unexpected end"},
		"text is rejected":                                {value: `two`, problem: "invalid character"},
		"a plain number is rejected":                      {value: `2`, problem: "cannot unmarshal"},
		"null is rejected":                                {value: `null`, problem: "out of range"},
		"a missing epoch is rejected":                     {value: `{"base":1}`, problem: "out of range"},
		"a negative base is rejected":                     {value: `{"epoch":2,"base":-1}`, problem: "out of range"},
		"a negative recreate is rejected":                 {value: `{"epoch":2,"recreate":-1}`, problem: "out of range"},
		"a future recreate is rejected":                   {value: `{"epoch":2,"recreate":3}`, problem: "out of range"},
		"an epoch beyond int32 is rejected":               {value: `{"epoch":2147483648}`, problem: "cannot unmarshal"},
		"trailing text is rejected":                       {value: `{"epoch":2} x`, problem: "invalid character"},
		"a fraction is rejected":                          {value: `{"epoch":1.5}`, problem: "cannot unmarshal"},
		"a string as a number is rejected":                {value: `{"epoch":"2"}`, problem: "cannot unmarshal"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := parse(c.value)
			if c.problem != "" {
				c.want = First()
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			requireProblem(t, err, c.problem)
		})
	}
}

func parse(value string) (Record, error) { return Of(map[string]string{Annotation: value}) }

func requireProblem(t *testing.T, err error, problem string) {
	t.Helper()
	if problem == "" {
		if err != nil {
			t.Errorf("unexpected error: %v", err)
		}
		return
	}
	if err == nil || !strings.Contains(err.Error(), problem) || !strings.Contains(err.Error(), Annotation) {
		t.Errorf("got error %v, want one that contains %s and %q", err, Annotation, problem)
	}
}

func TestAbsentAnnotationIsTheFirstEpoch(t *testing.T) {
	got, err := Of(map[string]string{"other": "x"})
	if err != nil || got != First() {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestNext(t *testing.T) {
	now := Record{Epoch: 4, Base: 1, Recreate: 3, Cause: "suspend/7"}
	cases := map[string]struct {
		open   func() (Record, bool)
		want   Record
		opened bool
	}{
		"another cause opens the next epoch and keeps recreate": {
			open: func() (Record, bool) { return now.Next("recreate/2", 2) },
			want: Record{Epoch: 5, Base: 2, Recreate: 3, Cause: "recreate/2"}, opened: true,
		},
		"the same cause opens nothing": {
			open: func() (Record, bool) { return now.Next("suspend/7", 9) },
			want: now,
		},
		"a full recreation makes earlier Jobs stale": {
			open: func() (Record, bool) { return now.NextRecreate("timeout/4/2", 3) },
			want: Record{Epoch: 5, Base: 3, Recreate: 5, Cause: "timeout/4/2"}, opened: true,
		},
		"a full recreation for the same cause opens nothing": {
			open: func() (Record, bool) { return now.NextRecreate("suspend/7", 3) },
			want: now,
		},
		"the maximum epoch is never exceeded": {
			open: func() (Record, bool) { return Record{Epoch: math.MaxInt32}.Next("suspend/1", 0) },
			want: Record{Epoch: math.MaxInt32},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, opened := c.open()
			if diff := cmp.Diff(c.want, got); diff != "" || opened != c.opened {
				t.Errorf("opened %v, want %v\n%s", opened, c.opened, diff)
			}
		})
	}
}

func TestJobsBeforeAFullRecreationAreStale(t *testing.T) {
	r := Record{Epoch: 4, Recreate: 3}
	for value, want := range map[string]bool{"": true, "nonsense": true, "-7": true, "2": true, "3": false, "4": false} {
		if got := r.Stale(OfJob(map[string]string{Annotation: value})); got != want {
			t.Errorf("epoch %q: stale %v, want %v", value, got, want)
		}
	}
	if First().Stale(OfJob(nil)) {
		t.Error("without a full recreation, a Job without the annotation is stale")
	}
}

func TestEpochOfAPodByItsCreationTime(t *testing.T) {
	r := Record{Epoch: 3, Recreate: 3, After: 1000}
	for created, want := range map[int64]int32{999: 2, 1000: 2, 1001: 3} {
		if got := r.OfPod(time.Unix(created, 5)); got != want {
			t.Errorf("created at %d: epoch %d, want %d", created, got, want)
		}
	}
	if got := First().OfPod(time.Unix(1, 0)); got != 1 {
		t.Errorf("without a time, the epoch is %d", got)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{`{"epoch":2,"base":1,"recreate":2,"cause":"a/1"}`, `{}`, `null`, `[]`, `{"epoch":-1}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		r, err := parse(value)
		if err != nil {
			return
		}
		if r.Epoch < 1 || r.Base < 0 || r.Recreate < 0 || r.Recreate > r.Epoch {
			t.Fatalf("accepted %+v", r)
		}
		if again, err := parse(r.Format()); err != nil || again != r {
			t.Fatalf("%+v became %+v, %v", r, again, err)
		}
	})
}
