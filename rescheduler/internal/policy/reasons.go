package policy

import "github.com/holdfast-project/holdfast/rescheduler/internal/signals"

// Reasons are those of the decisions about a row that people are told of. TooEarly and TooLongAgo are for no one.
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
		reasons = append(reasons, Recovering, GangMovedAlready)
	}
	switch {
	case dryRun:
		return append(reasons, WouldMove)
	case moves:
		return append(reasons, Excluded, Moved, LimitReached)
	}
	return append(reasons, Excluded)
}
