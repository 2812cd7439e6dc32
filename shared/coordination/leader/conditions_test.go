package leader

import (
	"fmt"
	"testing"
)

func TestSome(t *testing.T) {
	slots := func(n int) []string {
		list := []string{}
		for i := range n {
			list = append(list, fmt.Sprintf("s%d", i))
		}
		return list
	}
	for name, tc := range map[string]struct {
		missing []string
		want    string
	}{
		"one":            {slots(1), "s0"},
		"as many as fit": {slots(5), "s0, s1, s2, s3, s4"},
		"one more":       {slots(6), "s0, s1, s2, s3, s4 and 1 more"},
		"many more":      {slots(12_000), "s0, s1, s2, s3, s4 and 11995 more"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := some(tc.missing, maxNamed); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}
