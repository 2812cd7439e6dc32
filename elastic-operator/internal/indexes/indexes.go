// Package indexes is a set of workers, by their indexes, and its short way of writing: "0-3,7". It is pure.
package indexes

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// most keeps a corrupt text from becoming a list that fills the memory.
const most = 100_000

// Set holds indexes in ascending order, each once. nil is the empty set.
type Set []int

// Of makes a set.
func Of(members ...int) Set {
	s := slices.Clone(members)
	slices.Sort(s)
	return slices.Compact(s)
}

// Parse reads what String writes. The error says which part is wrong.
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
		from, err := strconv.ParseUint(first, 10, 31)
		if err != nil {
			return nil, fmt.Errorf("indexes: %q is not an index or a range such as 0-3", part)
		}
		to, err := strconv.ParseUint(last, 10, 31)
		if err != nil || to < from || to-from >= most || len(members)+int(to-from) >= most {
			return nil, fmt.Errorf("indexes: %q is not an index or a range such as 0-3", part)
		}
		for i := from; i <= to; i++ {
			members = append(members, int(i))
		}
	}
	return Of(members...), nil
}

// String is such as "0-3,7"; two neighbours are written as a range too.
func (s Set) String() string {
	var parts []string
	for i := 0; i < len(s); {
		end := i
		for end+1 < len(s) && s[end+1] == s[end]+1 {
			end++
		}
		if end == i {
			parts = append(parts, strconv.Itoa(s[i]))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", s[i], s[end]))
		}
		i = end + 1
	}
	return strings.Join(parts, ",")
}

// Has reports whether an index is in the set.
func (s Set) Has(index int) bool {
	_, found := slices.BinarySearch(s, index)
	return found
}

// With is the set and one more.
func (s Set) With(index int) Set {
	at, found := slices.BinarySearch(s, index)
	if found {
		return s
	}
	return slices.Insert(slices.Clone(s), at, index)
}

// Without is the set but for some.
func (s Set) Without(gone Set) Set {
	return slices.DeleteFunc(slices.Clone(s), gone.Has)
}

// Only is what is in both sets.
func (s Set) Only(other Set) Set {
	return slices.DeleteFunc(slices.Clone(s), func(i int) bool { return !other.Has(i) })
}
