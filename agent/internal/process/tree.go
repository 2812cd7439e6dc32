package process

import "os"

// members are the living processes of the tree: those of the leader's session, its descendants, and with a Reaper all
// descendants of this process, because those that lost their parents have become its children.
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

// descends reports whether a process is a root or has one above it. The walk is bounded, because a list that was read while
// numbers were reused could hold a cycle.
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
