package audit

import "path"

// Excuse says why rights may go unused.
type Excuse struct {
	// Rights is a pattern of the rights as String writes them, in the notation of path.Match, whose * does not cross a slash.
	Rights string
	Why    string
}

// Excused reports whether one of the excuses is this right's.
func (g Grant) Excused(excuses []Excuse) (Excuse, bool) {
	for _, e := range excuses {
		if ok, err := path.Match(e.Rights, g.String()); ok && err == nil {
			return e, true
		}
	}
	return Excuse{}, false
}

// Idle are the excuses that no granted right needs: the rights are gone, or the pattern was wrong from the start.
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
