package signals

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// since returns when the node began to show the signal. Only conditions say so: labels and taints have no time, and count at once.
func (s Signal) since(node *corev1.Node) (at time.Time, shows bool) {
	switch {
	case s.Label != nil:
		value, found := node.Labels[s.Label.Key]
		return time.Time{}, found && slices.Contains(s.Label.Values, value)
	case s.Taint != nil:
		return time.Time{}, slices.ContainsFunc(node.Spec.Taints, s.Taint.matches)
	case s.Condition != nil:
		for _, c := range node.Status.Conditions {
			if c.Type == s.Condition.Type && c.Status == s.Condition.Status {
				return c.LastTransitionTime.Time, true
			}
		}
	}
	return time.Time{}, false
}

// bad reports whether the signal counts against the node, or when it will if it lasts; zero if not by itself.
func (s Signal) bad(node *corev1.Node, now time.Time) (bad bool, next time.Time) {
	since, shows := s.since(node)
	if !shows {
		return false, time.Time{}
	}
	if counts := since.Add(s.HoldDown); now.Before(counts) {
		return false, counts
	}
	return true, time.Time{}
}

// Bad returns the signal for which pods with these requests must leave the node. If there is none yet, next is when there may be one;
// zero if not by itself.
func (t Table) Bad(node *corev1.Node, requests map[corev1.ResourceName]bool, now time.Time) (found *Signal, next time.Time) {
	for i := range t {
		s := &t[i]
		if s.Effect != Evacuate || !s.Concerns(requests) {
			continue
		}
		bad, at := s.bad(node, now)
		if bad {
			return s, time.Time{}
		}
		if next.IsZero() || (!at.IsZero() && at.Before(next)) {
			next = at
		}
	}
	return nil, next
}

// Avoids reports whether pods with these requests are kept away from the node by name, or only preferably (soft). Labels are left to
// the affinity of the pods, which names them and follows their changes.
func (t Table) Avoids(node *corev1.Node, requests map[corev1.ResourceName]bool, soft bool, now time.Time) bool {
	return slices.ContainsFunc(t, func(s Signal) bool {
		if s.Label != nil || (s.Effect == SoftAvoid) != soft || !s.Concerns(requests) {
			return false
		}
		bad, _ := s.bad(node, now)
		return bad
	})
}

// Changed reports whether the node shows other signals than before. A nil node shows none.
func (t Table) Changed(before, after *corev1.Node) bool {
	return slices.ContainsFunc(t, func(s Signal) bool {
		was, is := false, false
		var wasSince, isSince time.Time
		if before != nil {
			wasSince, was = s.since(before)
		}
		if after != nil {
			isSince, is = s.since(after)
		}
		return was != is || !wasSince.Equal(isSince)
	})
}
