// Package exclusion is the set of nodes that a pod must avoid. It is pure.
package exclusion

import "github.com/holdfast-project/holdfast/rescheduler/api/memory"

// Set is an immutable set of excluded nodes. The zero value is empty.
type Set struct {
	hosts []string // sorted and unique
	names map[string]struct{}
}

// Read parses the value of memory.HostsAnnotation. It returns an empty set and the error of memory.ParseHosts if the value is invalid.
func Read(value string) (Set, error) {
	hosts, err := memory.ParseHosts(value)
	if err != nil {
		return Set{}, err
	}
	set := Set{hosts: hosts, names: make(map[string]struct{}, len(hosts))}
	for _, host := range hosts {
		set.names[host] = struct{}{}
	}
	return set, nil
}

// Has reports whether the node is excluded.
func (s Set) Has(node string) bool {
	_, excluded := s.names[node]
	return excluded
}

// Len returns the number of nodes.
func (s Set) Len() int { return len(s.hosts) }

// Sorted returns the nodes by name. Do not change the result.
func (s Set) Sorted() []string { return s.hosts }

// LeavesNone reports whether all of the given nodes are excluded. name returns the name of the i-th node. It returns at once if there are
// more nodes than exclusions.
func (s Set) LeavesNone(nodes int, name func(i int) string) bool {
	if len(s.hosts) < nodes {
		return false
	}
	for i := range nodes {
		if !s.Has(name(i)) {
			return false
		}
	}
	return true
}

// OpensMoreThan reports whether this set allows a node that the other excludes.
func (s Set) OpensMoreThan(other Set) bool {
	for _, name := range other.hosts {
		if !s.Has(name) {
			return true
		}
	}
	return false
}
