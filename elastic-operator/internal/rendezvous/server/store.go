package server

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// Errors returned by operations of the store.
var (
	errNoNumber  = errors.New("the value is not a number")
	errWaitLimit = errors.New("clients are waiting for too many keys")
	errFull      = errors.New("the store is full")
)

// maxWaits limits the total number of keys that clients can wait for at the same time.
const maxWaits = 1 << 20

// overhead is the memory that a key uses in addition to the bytes of the key and its value: map entries and pointers.
const overhead = 128

// store contains the keys of one job. Values do not expire, and clients can wait for keys. It performs no I/O and is not safe for
// concurrent use.
type store struct {
	values      map[string][]byte
	waiting     map[string]map[*wait]struct{}
	waits       int   // the total number of keys that clients are waiting for
	used, limit int64 // bytes, including the overhead
}

func newStore(limit int64) *store {
	return &store{values: map[string][]byte{}, waiting: map[string]map[*wait]struct{}{}, limit: limit}
}

// set writes the value. It returns errFull if the write would exceed the limit. A write that reduces the usage always succeeds.
func (s *store) set(key string, value []byte) error {
	growth := cost(key, value)
	if current, ok := s.values[key]; ok {
		growth -= cost(key, current)
	}
	if growth > 0 && s.used+growth > s.limit {
		return fmt.Errorf("%w: %d bytes", errFull, s.limit)
	}
	s.used += growth
	s.values[key] = value
	s.wake(key)
	return nil
}

func cost(key string, value []byte) int64 { return int64(len(key) + len(value) + overhead) }

// compareAndSet writes the desired value if the current value equals the expected one. An empty expected value also matches a missing key.
// compareAndSet returns the resulting value. If the key does not exist afterwards, it returns the expected value, as torch's server does.
func (s *store) compareAndSet(key string, expected, desired []byte) ([]byte, error) {
	current, ok := s.values[key]
	switch {
	case !ok && len(expected) > 0:
		return expected, nil
	case ok && !bytes.Equal(current, expected):
		return current, nil
	}
	return desired, s.set(key, desired)
}

// add adds n to the decimal number at the key, which defaults to 0, and returns the sum.
func (s *store) add(key string, n int64) (int64, error) {
	if current, ok := s.values[key]; ok {
		have, err := strconv.ParseInt(string(current), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("adding to %q: %w", key, errNoNumber)
		}
		n += have
	}
	return n, s.set(key, strconv.AppendInt(nil, n, 10))
}

// missing returns the keys that do not exist.
func (s *store) missing(keys []string) map[string]struct{} {
	missing := map[string]struct{}{}
	for _, key := range keys {
		if _, ok := s.values[key]; !ok {
			missing[key] = struct{}{}
		}
	}
	return missing
}

// delete deletes the key and returns the number of deleted keys.
func (s *store) delete(key string) int64 {
	value, ok := s.values[key]
	if !ok {
		return 0
	}
	delete(s.values, key)
	s.used -= cost(key, value)
	return 1
}

// wait represents one client waiting for one or more keys.
type wait struct {
	missing map[string]struct{}
	ready   func()
}

// wait calls ready once all keys have been written: before it returns, or during the write of the last missing key. A key that was deleted
// after it was written still counts. ready must not call the store.
func (s *store) wait(keys []string, ready func()) (*wait, error) {
	w := &wait{missing: s.missing(keys), ready: ready}
	if len(w.missing) == 0 {
		ready()
		return w, nil
	}
	if s.waits+len(w.missing) > maxWaits {
		return nil, errWaitLimit
	}
	for key := range w.missing {
		if s.waiting[key] == nil {
			s.waiting[key] = map[*wait]struct{}{}
		}
		s.waiting[key][w] = struct{}{}
	}
	s.waits += len(w.missing)
	return w, nil
}

// cancel cancels a wait, so that ready is not called. It has no effect on a nil or completed wait.
func (s *store) cancel(w *wait) {
	if w == nil {
		return
	}
	for key := range w.missing {
		s.forget(key, w)
	}
}

func (s *store) wake(key string) {
	for w := range s.waiting[key] {
		s.forget(key, w)
		if len(w.missing) == 0 {
			w.ready()
		}
	}
}

func (s *store) forget(key string, w *wait) {
	delete(w.missing, key)
	delete(s.waiting[key], w)
	if len(s.waiting[key]) == 0 {
		delete(s.waiting, key)
	}
	s.waits--
}
