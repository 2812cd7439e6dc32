package forming

import (
	"fmt"
	"strings"
	"time"
)

// maxNamed limits how many workers a message names.
const maxNamed = 5

// Text names the missing workers, what each of them is waiting for, and what happens next. It depends on the state and not on the
// time.
func (s Step) Text() string {
	var parts []string
	for _, slot := range s.Missing[:min(len(s.Missing), maxNamed)] {
		parts = append(parts, slot.Name+": "+WaitOf(slot, s.Now).Text)
	}
	if more := s.Waiting - int64(len(parts)); more > 0 && len(parts) > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	text := fmt.Sprintf("%d of %d workers have not joined", s.Waiting, len(s.Slots))
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, "; ")
	}
	return text + ". " + s.next()
}

// next describes what happens if no worker joins.
func (s Step) next() string {
	deadline, runs := s.Clock()
	if !runs {
		return fmt.Sprintf("The %s forming-timeout does not run meanwhile", s.Period)
	}
	end := deadline.Start.Add(deadline.Period).UTC().Format(time.RFC3339)
	return fmt.Sprintf("If they have not joined by %s (forming-timeout %s), pods are recreated", end, s.Period)
}

// Waits counts the missing workers by what they are waiting for. Missing workers whose names are unknown count as running without
// having joined.
func (s Step) Waits() map[Kind]int {
	counts := map[Kind]int{}
	for _, slot := range s.Missing {
		counts[WaitOf(slot, s.Now).Kind]++
	}
	if more := int(s.Waiting) - len(s.Missing); more > 0 {
		counts[Store] += more
	}
	return counts
}
