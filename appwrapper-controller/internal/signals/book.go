package signals

import (
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Book remembers since when nodes show signals. It is safe for concurrent use.
type Book struct {
	table Table
	mu    sync.Mutex
	nodes map[string][]sighting // by node, one for each signal of the table
}

// sighting of a signal at a node.
type sighting struct {
	since time.Time // zero: it does not show
	until time.Time // zero, or: it is latched until then
}

// NewBook has seen nothing.
func NewBook(table Table) *Book { return &Book{table: table, nodes: map[string][]sighting{}} }

// Table of the book.
func (b *Book) Table() Table { return b.table }

// Observe writes down what a node shows. changed: the node has become better or worse since it was observed last, or will at
// next, which is zero if nothing changes by itself.
func (b *Book) Observe(node *corev1.Node, now time.Time) (changed bool, next time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	seen := b.nodes[node.Name]
	if seen == nil {
		seen = make([]sighting, len(b.table))
		b.nodes[node.Name] = seen
	}
	for i, s := range b.table {
		before := seen[i]
		seen[i] = s.update(before, s.shows(node), now)
		changed = changed || seen[i] != before
		next = earliest(next, s.nextChange(seen[i], now))
	}
	return changed, next
}

// Forget drops a node that is gone.
func (b *Book) Forget(node string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.nodes, node)
}

// update: a signal that shows again starts its hold-down anew, unless it is still latched.
func (s Signal) update(was sighting, shows bool, now time.Time) sighting {
	switch {
	case shows && was.since.IsZero():
		since := now
		if now.Before(was.until) {
			since = now.Add(-s.HoldDown)
		}
		return sighting{since: since}
	case shows:
		return was
	case !was.since.IsZero():
		if s.Latch > 0 && now.Sub(was.since) >= s.HoldDown {
			return sighting{until: now.Add(s.Latch)}
		}
		return sighting{}
	case now.Before(was.until):
		return was
	}
	return sighting{}
}

func (s Signal) bad(at sighting, now time.Time) bool {
	if at.since.IsZero() {
		return now.Before(at.until)
	}
	return now.Sub(at.since) >= s.HoldDown
}

func (s Signal) nextChange(at sighting, now time.Time) time.Time {
	if end := at.since.Add(s.HoldDown); !at.since.IsZero() && now.Before(end) {
		return end
	}
	if now.Before(at.until) {
		return at.until
	}
	return time.Time{}
}

// Bad returns the signal for which pods with these requests must leave the node, if there is one; and otherwise when there will
// be one, zero if not by itself.
func (b *Book) Bad(node string, requests map[corev1.ResourceName]bool, now time.Time) (found *Signal, next time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, at := range b.nodes[node] {
		s := &b.table[i]
		if s.Effect != Evacuate || !s.Concerns(requests) {
			continue
		}
		if s.bad(at, now) {
			return s, time.Time{}
		}
		next = earliest(next, s.nextChange(at, now))
	}
	return nil, next
}

// Avoided returns the nodes, sorted, that pods with these requests are to be kept away from by name, or only rather (soft). Labels
// that show are not among them: the affinity of the pods names them itself, and follows their changes.
func (b *Book) Avoided(requests map[corev1.ResourceName]bool, soft bool, now time.Time) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	names := map[string]bool{}
	for node, seen := range b.nodes {
		for i, at := range seen {
			s := b.table[i]
			if byAffinity := s.Label != nil && !at.since.IsZero(); !byAffinity && (s.Effect == SoftAvoid) == soft && s.Concerns(requests) && s.bad(at, now) {
				names[node] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func earliest(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}
