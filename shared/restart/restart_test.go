package restart

import (
	"math"
	"testing"
)

func TestBudget(t *testing.T) {
	cases := map[string]struct {
		budget           Budget
		charged          int32
		allows, exceeded bool
		left             int32
	}{
		"nothing charged yet": {budget: 2, charged: 0, allows: true, left: 2},
		"the last allowed restart does not exceed the budget": {budget: 2, charged: 2},
		"one more than allowed exceeds the budget":            {budget: 2, charged: 3, exceeded: true},
		"no budget allows no restart":                         {budget: 0, charged: 0},
		"a negative budget counts as 0":                       {budget: -5, charged: 0},
		"a negative count counts as 0":                        {budget: 1, charged: -3, allows: true, left: 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.budget.Allows(tc.charged); got != tc.allows {
				t.Errorf("Allows = %v, want %v", got, tc.allows)
			}
			if got := tc.budget.Exceeded(tc.charged); got != tc.exceeded {
				t.Errorf("Exceeded = %v, want %v", got, tc.exceeded)
			}
			if got := tc.budget.Left(tc.charged); got != tc.left {
				t.Errorf("Left = %v, want %v", got, tc.left)
			}
			if most := tc.budget.Most(); !tc.budget.Exceeded(most) || tc.budget.Exceeded(most-1) {
				t.Errorf("Most = %v is not the first count that exceeds the budget", most)
			}
		})
	}
}

func TestCharged(t *testing.T) {
	cases := map[string]struct {
		base  int32
		round int64
		want  int32
	}{
		"base and rounds add up":    {base: 3, round: 4, want: 7},
		"negative parts count as 0": {base: -1, round: -4, want: 0},
		"the sum saturates":         {base: math.MaxInt32, round: 9, want: math.MaxInt32},
		"a huge round saturates":    {base: 1, round: math.MaxInt64, want: math.MaxInt32},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Charged(tc.base, tc.round); got != tc.want {
				t.Errorf("Charged(%d, %d) = %d, want %d", tc.base, tc.round, got, tc.want)
			}
		})
	}
}
