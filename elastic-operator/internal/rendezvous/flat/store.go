// Package flat is the key-value store behind TCPStore. Values do not expire, and clients can wait for keys. It performs no I/O and is not
// safe for concurrent use.
package flat

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Errors returned by operations.
var (
	ErrNoKey     = errors.New("the key does not exist")
	ErrNoNumber  = errors.New("the value is not a number")
	ErrWaitLimit = errors.New("clients are waiting for too many keys")
	ErrFull      = errors.New("the store is full")
)

// maxWaits limits the total number of keys that clients can wait for at the same time.
const maxWaits = 1 << 20

// overhead is the memory of a key in addition to the bytes of the key and the value: map entries and pointers.
const overhead = 128

// Usage is a number of keys and bytes. As a limit, 0 means no limit.
type Usage struct {
	Keys  int
	Bytes int64
}

// Store contains the keys of one job.
type Store struct {
	values  map[string][]byte
	waiting map[string]map[*Wait]struct{}
	waits   int
	limits  Usage
	used    Usage
}

// New returns an empty store.
func New(limits Usage) *Store {
	return &Store{values: map[string][]byte{}, waiting: map[string]map[*Wait]struct{}{}, limits: limits}
}

// Get returns the value. The caller must not change it.
func (s *Store) Get(key string) ([]byte, bool) {
	value, ok := s.values[key]
	return value, ok
}

// Set writes the value. It returns ErrFull if the write would exceed a limit. A write that reduces the usage always succeeds.
func (s *Store) Set(key string, value []byte) error {
	next := s.used
	next.Keys++
	next.Bytes += cost(key, value)
	if current, ok := s.values[key]; ok {
		next.Keys--
		next.Bytes -= cost(key, current)
	}
	if next.Keys > s.used.Keys && s.limits.Keys > 0 && next.Keys > s.limits.Keys {
		return fmt.Errorf("%w: %d keys", ErrFull, s.limits.Keys)
	}
	if next.Bytes > s.used.Bytes && s.limits.Bytes > 0 && next.Bytes > s.limits.Bytes {
		return fmt.Errorf("%w: %d bytes", ErrFull, s.limits.Bytes)
	}
	s.used = next
	s.values[key] = value
	s.wake(key)
	return nil
}

func cost(key string, value []byte) int64 { return int64(len(key) + len(value) + overhead) }

// CompareAndSet writes the desired value if the current value equals the expected one. An empty expected value also matches a missing key.
// CompareAndSet returns the resulting value. If the key does not exist afterwards, it returns the expected value, as torch's server does.
func (s *Store) CompareAndSet(key string, expected, desired []byte) ([]byte, error) {
	current, ok := s.Get(key)
	switch {
	case !ok && len(expected) > 0:
		return expected, nil
	case ok && !bytes.Equal(current, expected):
		return current, nil
	}
	return desired, s.Set(key, desired)
}

// Add adds n to the decimal number at the key, which defaults to 0, and returns the sum.
func (s *Store) Add(key string, n int64) (int64, error) {
	if current, ok := s.Get(key); ok {
		have, err := strconv.ParseInt(string(current), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("adding to %q: %w", key, ErrNoNumber)
		}
		n += have
	}
	return n, s.Set(key, strconv.AppendInt(nil, n, 10))
}

// Append appends to the value. It returns ErrFull if the result would be longer than limit bytes.
func (s *Store) Append(key string, value []byte, limit int) error {
	current, _ := s.Get(key)
	if len(current)+len(value) > limit {
		return fmt.Errorf("appending to %q: %w", key, ErrFull)
	}
	return s.Set(key, append(bytes.Clone(current), value...))
}

// Has reports whether all keys exist.
func (s *Store) Has(keys []string) bool {
	for _, key := range keys {
		if _, ok := s.values[key]; !ok {
			return false
		}
	}
	return true
}

// Delete removes a key and reports whether it existed.
func (s *Store) Delete(key string) bool {
	value, ok := s.values[key]
	if ok {
		delete(s.values, key)
		s.used.Keys--
		s.used.Bytes -= cost(key, value)
	}
	return ok
}

// Keys returns all keys in random order.
func (s *Store) Keys() []string { return slices.Collect(maps.Keys(s.values)) }

// Used returns the current usage.
func (s *Store) Used() Usage { return s.used }

// Waits returns the total number of keys that clients are waiting for.
func (s *Store) Waits() int { return s.waits }

// Wait represents one client waiting for one or more keys.
type Wait struct {
	missing map[string]struct{}
	ready   func()
}

// Wait calls ready once all keys have been written: before it returns, or during the write of the last missing key. A key that was deleted
// after it was written still counts. ready must not call the store.
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
