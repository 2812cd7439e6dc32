// Package indexes provides sets of worker indexes and their text form, such as "0-3,7". It performs no I/O.
package indexes

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/utils/cpuset"
)

// Max limits the size of a parsed set, so that corrupt text cannot exhaust memory. No job has that many workers.
const Max = 100_000

// Set contains indexes in ascending order without duplicates. nil is the empty set.
type Set []int

// Of returns the set of the given indexes.
func Of(members ...int) Set {
	s := slices.Clone(members)
	slices.Sort(s)
	return slices.Compact(s)
}

// Parse parses the output of String. The error quotes the invalid part.
func Parse(text string) (Set, error) {
	var members []int
	if text == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, errFrom := strconv.ParseUint(first, 10, 31)
		to, errTo := strconv.ParseUint(last, 10, 31)
		if errFrom != nil || errTo != nil || to < from || to-from >= Max || len(members)+int(to-from) >= Max {
			return nil, fmt.Errorf("indexes: %q is not an index or a range such as 0-3", part)
		}
		for i := from; i <= to; i++ {
			members = append(members, int(i))
		}
	}
	return Of(members...), nil
}

// String returns the text form. Two or more consecutive indexes form a range, such as "0-3,7".
func (s Set) String() string { return cpuset.New(s...).String() } // CPU numbers have the same text form

// Has reports whether the set contains the index.
func (s Set) Has(index int) bool {
	_, found := slices.BinarySearch(s, index)
	return found
}

// With returns the set with the indexes added.
func (s Set) With(more ...int) Set { return Of(slices.Concat(s, more)...) }

// Without returns the indexes of s that are not in other.
func (s Set) Without(other Set) Set {
	return slices.DeleteFunc(slices.Clone(s), other.Has)
}

// Intersect returns the indexes that are in both sets.
func (s Set) Intersect(other Set) Set {
	return slices.DeleteFunc(slices.Clone(s), func(i int) bool { return !other.Has(i) })
}
