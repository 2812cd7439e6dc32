package orchestrator

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// lateAfter is how long a restart takes before somebody wants to know whom it waits for. Processes are back before that, and most
// containers.
const lateAfter = 2 * time.Second

// nameLate finds out once for each round that takes long who is not back, for the condition. Who joins later does not change what it says:
// it costs one look into the store and one write, however many workers there are.
func (r *Reconciler) nameLate(ctx context.Context, s *scope) error {
	s.late = ""
	if !s.restarting() {
		return nil
	}
	if wait := lateAfter - s.now.Sub(s.clock.Start); wait > 0 {
		s.lookIn(wait)
		return nil
	}
	restart := s.state.restart
	if !restart.asked {
		missing, err := r.missing(ctx, s)
		if err != nil || len(missing) == 0 {
			return err
		}
		restart.late, restart.asked = lateText(missing), true
	}
	s.late = restart.late
	return nil
}

// lateText is the end of the condition's message.
func lateText(missing []string) string {
	n := len(missing)
	names, more := missing[:min(n, maxNamed)], ""
	if n > maxNamed {
		more = fmt.Sprintf(" and %d more", n-maxNamed)
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; not back after %s: %s%s", lateAfter, strings.Join(names, ", "), more)
}
