package memory

// SetReachable breaks or restores the connection to the store. Each watcher is notified once, and reads again when the connection
// is restored.
func (s *Store) SetReachable(reachable bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unreachable == !reachable {
		return
	}
	s.unreachable = !reachable
	s.readAll()
}

// Wipe drops all data, like a server that restarts empty. Watchers read again.
func (s *Store) Wipe() { s.Restore(Dump{}) }

// Dump copies all groups.
func (s *Store) Dump() Dump {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.server.Dump()
}

// Restore resets the store to a dump, like a server that restarts with older data. Watchers read again.
func (s *Store) Restore(d Dump) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.server.Restore(d)
	if !s.unreachable {
		s.readAll()
	}
}

func (s *Store) readAll() {
	for w := range s.watchers {
		s.read(w)
	}
}
