// Package completion reads lists of completion indexes as the Job controller writes them into the status of a Job: "0,2-4", in order.
package completion

import (
	"iter"
	"strconv"
	"strings"
)

// Ranges are the first and the last index of each part of a list. Parts that cannot be read are left out.
func Ranges(list string) iter.Seq2[int, int] {
	return func(yield func(first, last int) bool) {
		for part := range strings.SplitSeq(list, ",") {
			if first, last, ok := parse(part); ok && !yield(first, last) {
				return
			}
		}
	}
}

func parse(part string) (first, last int, ok bool) {
	from, to, isRange := strings.Cut(part, "-")
	first, err := strconv.Atoi(from)
	if err != nil || first < 0 {
		return 0, 0, false
	}
	if !isRange {
		return first, first, true
	}
	last, err = strconv.Atoi(to)
	return first, last, err == nil && last <= 1<<20
}
