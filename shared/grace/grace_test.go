package grace

import (
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	rule := Rule{Name: "annotation example.dev/grace", Default: time.Minute, Minimum: time.Second, Maximum: time.Hour}
	cases := map[string]struct {
		value string
		want  time.Duration
		err   string
	}{
		"an empty value is the default":            {value: "", want: time.Minute},
		"a duration is used as is":                 {value: "90s", want: 90 * time.Second},
		"blanks around it do not matter":           {value: " 5m ", want: 5 * time.Minute},
		"a value above the maximum is the maximum": {value: "48h", want: time.Hour},
		"a bare number is rejected":                {value: "60", want: time.Minute, err: `annotation example.dev/grace: "60" is not a duration`},
		"words are rejected":                       {value: "soon", want: time.Minute, err: `"soon"`},
		"zero is below the minimum":                {value: "0s", want: time.Minute, err: "below the minimum of 1s"},
		"a negative duration is below the minimum": {value: "-5s", want: time.Minute, err: "below the minimum"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := rule.Parse(tc.value)
			if got != tc.want {
				t.Errorf("Parse(%q) = %s, want %s", tc.value, got, tc.want)
			}
			switch {
			case tc.err == "" && err != nil:
				t.Errorf("unexpected error: %v", err)
			case tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)):
				t.Errorf("error %v, want one with %q", err, tc.err)
			}
		})
	}
}

func TestDeadline(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	d := Deadline{Start: start, Period: time.Minute}
	if got := d.Remaining(start.Add(45 * time.Second)); got != 15*time.Second {
		t.Errorf("Remaining = %s, want 15s", got)
	}
	if d.Passed(start.Add(59 * time.Second)) {
		t.Error("the deadline passed before its end")
	}
	if !d.Passed(start.Add(time.Minute)) || d.Remaining(start.Add(time.Hour)) != 0 {
		t.Error("the deadline has not passed at its end")
	}
}

func FuzzParseNeverExceedsTheCeiling(f *testing.F) {
	for _, s := range []string{"", "1s", "60", "9999h", "-1s", "1e9s"} {
		f.Add(s)
	}
	rule := Rule{Name: "x", Default: time.Minute, Minimum: time.Second, Maximum: time.Hour}
	f.Fuzz(func(t *testing.T, value string) {
		if d, err := rule.Parse(value); d > rule.Maximum || (err == nil && d < rule.Minimum) {
			t.Errorf("Parse(%q) = %s, %v", value, d, err)
		}
	})
}
