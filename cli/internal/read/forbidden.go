package read

import (
	"errors"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

var ErrForbidden = errors.New("no permission")

// Forbidden lists missing permissions, such as "list pods". The affected objects are unknown.
type Forbidden []string

// record reports whether the error is a missing permission, and records it.
func (f *Forbidden) record(err error, verb, resource string) bool {
	if !apierrors.IsForbidden(err) {
		return false
	}
	if right := verb + " " + resource; !slices.Contains(*f, right) {
		*f = append(*f, right)
	}
	return true
}

// First returns the first missing permission with the verb, or "" if there is none.
func (f Forbidden) First(verb string) string {
	for _, right := range f {
		if strings.HasPrefix(right, verb+" ") {
			return right
		}
	}
	return ""
}

// String returns a list such as "get jobs, list pods, events".
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
