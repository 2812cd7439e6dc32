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

func (f Forbidden) String() string { return strings.Join(f, ", ") }
