package read

import "testing"

func TestIndexInList(t *testing.T) {
	for name, tc := range map[string]struct {
		list string
		in   []int32
		out  []int32
	}{
		"none":           {"", nil, []int32{0, 1}},
		"single indexes": {"1,7", []int32{1, 7}, []int32{0, 2, 6, 8, 17}},
		"a range":        {"0-3,7", []int32{0, 2, 3, 7}, []int32{4, 6}},
		"invalid parts":  {"x-3,-,7", []int32{7}, []int32{0, 3}},
		"out of range":   {"99999999999,2", []int32{2}, []int32{0, 99}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, i := range tc.in {
				if !contains(i, tc.list) {
					t.Errorf("%d is not among %q", i, tc.list)
				}
			}
			for _, i := range tc.out {
				if contains(i, tc.list) {
					t.Errorf("%d is among %q", i, tc.list)
				}
			}
		})
	}
}
