package flat

// Wait is the wait of one client for one or more keys.
type Wait struct {
	missing map[string]struct{}
	ready   func()
}

// Wait calls ready once every key has existed: before it returns, or during the write of the last missing key. ready must not call the
// store. A key that was deleted again counts as existing.
func (s *Store) Wait(keys []string, ready func()) (*Wait, error) {
	w := &Wait{missing: map[string]struct{}{}, ready: ready}
	for _, key := range keys {
		if _, ok := s.values[key]; !ok {
			w.missing[key] = struct{}{}
		}
	}
	if len(w.missing) == 0 {
		ready()
		return w, nil
	}
	if s.waits+len(w.missing) > maxWaits {
		return nil, ErrWaitLimit
	}
	for key := range w.missing {
		if s.waiting[key] == nil {
			s.waiting[key] = map[*Wait]struct{}{}
		}
		s.waiting[key][w] = struct{}{}
	}
	s.waits += len(w.missing)
	return w, nil
}

// Cancel cancels a wait, so that ready is not called. It has no effect on a nil or completed wait.
func (s *Store) Cancel(w *Wait) {
	if w == nil {
		return
	}
	for key := range w.missing {
		s.forget(key, w)
	}
}

func (s *Store) wake(key string) {
	for w := range s.waiting[key] {
		s.forget(key, w)
		if len(w.missing) == 0 {
			w.ready()
		}
	}
}

func (s *Store) forget(key string, w *Wait) {
	delete(w.missing, key)
	delete(s.waiting[key], w)
	if len(s.waiting[key]) == 0 {
		delete(s.waiting, key)
	}
	s.waits--
}
