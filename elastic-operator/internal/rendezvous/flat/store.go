// Package flat is the store behind TCPStore: keys without structure, values without time, and waits for keys that are not there yet.
// Pure: it does no I/O and takes one goroutine at a time.
package flat

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/quota"
)

// Errors of operations.
var (
	ErrNoKey     = errors.New("the key does not exist")
	ErrNoNumber  = errors.New("the value is not a number")
	ErrWaitLimit = errors.New("too many keys are waited for")
)

// maxWaits bounds the keys that are waited for at any time, all clients together.
const maxWaits = 1 << 20

type entry struct {
	job   string
	value []byte
}

// Store keeps the keys of all jobs.
type Store struct {
	entries map[string]entry
	waiting map[string]map[*Wait]struct{}
	waits   int
	book    *quota.Book
}

// New makes an empty store with limits for each job.
func New(l quota.Limits) *Store {
	return &Store{entries: map[string]entry{}, waiting: map[string]map[*Wait]struct{}{}, book: quota.NewBook(l)}
}

// Get returns the value, which the caller must not change.
func (s *Store) Get(key string) ([]byte, bool) {
	e, ok := s.entries[key]
	return e.value, ok
}

// Set writes the value on behalf of a job. It returns quota.ErrExceeded if the job has no room.
func (s *Store) Set(job, key string, value []byte) error {
	before := quota.Usage{}
	if e, ok := s.entries[key]; ok {
		before = quota.Cost(key, len(e.value))
		job = e.job
	}
	if err := s.book.Add(job, before, quota.Cost(key, len(value))); err != nil {
		return err
	}
	s.entries[key] = entry{job: job, value: value}
	s.wake(key)
	return nil
}

// CompareAndSet writes the desired value if the current one is as expected, or if there is none and none is expected. It returns what the key
// holds afterwards; for a key that stays missing that is what the client expected, as torch's own server answers.
func (s *Store) CompareAndSet(job, key string, expected, desired []byte) ([]byte, error) {
	current, ok := s.Get(key)
	switch {
	case !ok && len(expected) > 0:
		return expected, nil
	case ok && !bytes.Equal(current, expected):
		return current, nil
	}
	return desired, s.Set(job, key, desired)
}

// Add adds to a decimal number, 0 if there is none, and returns the sum.
func (s *Store) Add(job, key string, n int64) (int64, error) {
	if current, ok := s.Get(key); ok {
		have, err := strconv.ParseInt(string(current), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("adding to %q: %w", key, ErrNoNumber)
		}
		n += have
	}
	return n, s.Set(job, key, strconv.AppendInt(nil, n, 10))
}

// Append adds to the end of a value. The value may grow up to limit bytes.
func (s *Store) Append(job, key string, value []byte, limit int) error {
	current, _ := s.Get(key)
	if len(current)+len(value) > limit {
		return fmt.Errorf("appending to %q: %w", key, quota.ErrExceeded)
	}
	return s.Set(job, key, append(bytes.Clone(current), value...))
}

// Has tells whether all keys exist.
func (s *Store) Has(keys []string) bool {
	for _, key := range keys {
		if _, ok := s.entries[key]; !ok {
			return false
		}
	}
	return true
}

// Delete removes a key and tells whether it was there.
func (s *Store) Delete(key string) bool {
	e, ok := s.entries[key]
	if ok {
		delete(s.entries, key)
		s.book.Remove(e.job, quota.Cost(key, len(e.value)))
	}
	return ok
}

// Sweep removes the keys of a job that obsolete says so of, and returns how many.
func (s *Store) Sweep(job string, obsolete func(key string) bool) int {
	n := 0
	for key, e := range s.entries {
		if e.job == job && obsolete(key) {
			s.Delete(key)
			n++
		}
	}
	return n
}

// Keys are those of a job, in no order.
func (s *Store) Keys(job string) (keys []string) {
	for key, e := range s.entries {
		if e.job == job {
			keys = append(keys, key)
		}
	}
	return keys
}

// Usage is what all jobs keep.
func (s *Store) Usage() quota.Usage { return s.book.Total() }

// Waits is how many keys are waited for.
func (s *Store) Waits() int { return s.waits }
