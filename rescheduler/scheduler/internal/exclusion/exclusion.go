// Package exclusion is the set of nodes that a pod has to stay away from, as the scheduling cycle needs it. It is pure.
package exclusion

import "github.com/holdfast-project/holdfast/rescheduler/api/memory"

// Set is the nodes to stay away from. The zero value excludes none. It does not change once it is made.
type Set struct {
	hosts []string // sorted, once each
	names map[string]struct{}
}

// Read the value of memory.HostsAnnotation. Its errors are those of memory.ParseHosts; the set is empty then.
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

// Has: the pod stays away from the node of this name.
func (s Set) Has(node string) bool {
	_, excluded := s.names[node]
	return excluded
}

// Len is the number of nodes.
func (s Set) Len() int { return len(s.hosts) }

// Sorted lists the nodes by name. The caller leaves the list as it is.
func (s Set) Sorted() []string { return s.hosts }

// LeavesNone: of so many nodes, of which name gives the i-th, none is left. Excluded nodes that do not exist leave all that do. It costs
// nothing while there are more nodes than exclusions.
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

// OpensMoreThan: some node that the other set excludes is open in this one.
func (s Set) OpensMoreThan(other Set) bool {
	for _, name := range other.hosts {
		if !s.Has(name) {
			return true
		}
	}
	return false
}
