package process

import "os"

// members returns the living processes of the tree: those in the leader's session and its descendants. With a Reaper
// these are all descendants of this process, because orphans have become its children.
func (c *Child) members() (map[int]stat, error) {
	all, err := processes()
	if err != nil {
		return nil, err
	}
	roots := map[int]bool{c.pid: true}
	if c.reaper != nil {
		roots[os.Getpid()] = true
	}
	tree := map[int]stat{}
	for pid, s := range all {
		ours := s.session == c.pid || descends(all, pid, roots)
		if !ours || !s.alive() || pid == os.Getpid() || c.reaper != nil && c.reaper.isTemplate(all, pid) {
			continue
		}
		tree[pid] = s
	}
	return tree, nil
}

// descends reports whether a process is a root or a descendant of one. The walk is bounded, because a list that was
// read while PIDs were reused could contain a cycle.
func descends(all map[int]stat, pid int, roots map[int]bool) bool {
	for range len(all) {
		if roots[pid] {
			return true
		}
		s, ok := all[pid]
		if !ok {
			return false
		}
		pid = s.parent
	}
	return false
}
