package audit

import "path"

// Excuse explains why certain permissions are allowed to be unused.
type Excuse struct {
	// Rights is a path.Match pattern for the text returned by Grant.String. Its * does not match a slash.
	Rights string
	Why    string
}

// Excused returns the first excuse that applies to the permission.
func (g Grant) Excused(excuses []Excuse) (Excuse, bool) {
	for _, e := range excuses {
		if ok, err := path.Match(e.Rights, g.String()); ok && err == nil {
			return e, true
		}
	}
	return Excuse{}, false
}

// Idle returns the excuses that do not apply to any permission, because the permission was removed or the pattern
// is wrong.
func Idle(excuses []Excuse, grants []Grant) []Excuse {
	var idle []Excuse
	for _, e := range excuses {
		needed := false
		for _, g := range grants {
			_, is := g.Excused([]Excuse{e})
			needed = needed || is
		}
		if !needed {
			idle = append(idle, e)
		}
	}
	return idle
}
