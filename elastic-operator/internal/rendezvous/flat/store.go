// Package flat is the store behind TCPStore: keys without structure, values that do not expire, and clients that wait for keys.
// Pure: it does no I/O, and one goroutine at a time may use it.
package flat

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// Errors of operations.
var (
	ErrNoKey     = errors.New("the key does not exist")
	ErrNoNumber  = errors.New("the value is not a number")
	ErrWaitLimit = errors.New("too many keys are waited for")
	ErrFull      = errors.New("the store is full")
)

// maxWaits bounds the keys that all clients together wait for.
const maxWaits = 1 << 20

// overhead is what a key costs beside its bytes: map entries and pointers.
const overhead = 128

// Usage is a number of keys and their bytes. As a limit, zero is unlimited.
type Usage struct {
	Keys  int
	Bytes int64
}

// Store keeps the keys of one job.
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

// Get returns the value, which the caller must not change.
func (s *Store) Get(key string) ([]byte, bool) {
	value, ok := s.values[key]
	return value, ok
}

// Set writes the value. It returns ErrFull if the store would outgrow its limits; a write that frees room always succeeds.
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

// CompareAndSet writes the desired value if the current one is as expected, or if there is none and none is expected. It returns what the key
// holds afterwards; for a key that stays missing that is what the client expected, as torch's own server answers.
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

// Add adds to a decimal number, 0 if there is none, and returns the sum.
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

// Append adds to the end of a value. The value may grow up to limit bytes.
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

// Sweep removes the keys that obsolete selects.
func (s *Store) Sweep(obsolete func(key string) bool) {
	for key := range s.values {
		if obsolete(key) {
			s.Delete(key)
		}
	}
}

// Keys returns all keys, in no order.
func (s *Store) Keys() []string {
	keys := make([]string, 0, len(s.values))
	for key := range s.values {
		keys = append(keys, key)
	}
	return keys
}

// Used returns what the store holds.
func (s *Store) Used() Usage { return s.used }

// Waits returns how many keys clients wait for.
func (s *Store) Waits() int { return s.waits }
