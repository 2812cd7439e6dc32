package read

import (
	"errors"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// ErrForbidden: one has no right to read what was asked for.
var ErrForbidden = errors.New("no right")

// Forbidden is what one has no right to do, such as "list pods". Nothing follows from what is missing then.
type Forbidden []string

// noted tells whether an error is a refusal, and keeps it in mind.
func (f *Forbidden) noted(err error, verb, resource string) bool {
	if !apierrors.IsForbidden(err) {
		return false
	}
	if right := verb + " " + resource; !slices.Contains(*f, right) {
		*f = append(*f, right)
	}
	return true
}

// First of those with the verb; empty if there is none.
func (f Forbidden) First(verb string) string {
	for _, right := range f {
		if strings.HasPrefix(right, verb+" ") {
			return right
		}
	}
	return ""
}

// String is a list for people: "get jobs, list pods, events".
func (f Forbidden) String() string {
	var parts []string
	last := ""
	for _, right := range f {
		verb, resource, _ := strings.Cut(right, " ")
		if verb == last {
			right = resource
		}
		parts, last = append(parts, right), verb
	}
	return strings.Join(parts, ", ")
}
