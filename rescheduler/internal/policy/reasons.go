package policy

import "github.com/holdfast-project/holdfast/rescheduler/internal/signals"

// Reasons returns the reasons of the decisions about a row that are published. TooEarly and TooLongAgo are not.
func Reasons(row signals.Row, dryRun bool) []string {
	if row.Action == signals.Never {
		return []string{NotMovable, NeverMoved}
	}
	reasons := []string{NotMovable, NoOtherNode, Exhausted}
	if row.Siblings {
		reasons = append(reasons, WorkloadFault)
	}
	moves := row.Action == signals.Move
	if moves {
		reasons = append(reasons, Recovering, GroupMovedAlready)
	}
	switch {
	case dryRun:
		return append(reasons, WouldMove)
	case moves:
		return append(reasons, Excluded, Moved, LimitReached)
	}
	return append(reasons, Excluded)
}
