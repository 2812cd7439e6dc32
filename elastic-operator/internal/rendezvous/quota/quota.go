// Package quota bounds what each job keeps in a store. Pure, and safe for one goroutine at a time.
package quota

import (
	"errors"
	"fmt"
)

// ErrExceeded is a write that its job has no room for.
var ErrExceeded = errors.New("the job's quota is used up")

// overhead is what a key costs beside its bytes: map entries, indexes, pointers.
const overhead = 128

// Limits of one job. Zero is no limit.
type Limits struct {
	Keys  int
	Bytes int64
}

// Usage of one job, or of all of them.
type Usage struct {
	Keys  int
	Bytes int64
}

// Book counts what each job keeps.
type Book struct {
	limits Limits
	used   map[string]Usage
	total  Usage
}

// NewBook counts against the same limits for each job.
func NewBook(l Limits) *Book { return &Book{limits: l, used: map[string]Usage{}} }

// Cost is what a key with its value takes.
func Cost(key string, size int) Usage {
	return Usage{Keys: 1, Bytes: int64(len(key) + size + overhead)}
}

// Add books a change from what the key cost before (the zero Usage if it was not there) to what it costs now. It returns ErrExceeded,
// and books nothing, if the change takes room that the job does not have; a change that gives room back always succeeds.
func (b *Book) Add(job string, before, now Usage) error {
	u := b.used[job]
	next := Usage{Keys: u.Keys + now.Keys - before.Keys, Bytes: u.Bytes + now.Bytes - before.Bytes}
	if next.Keys > u.Keys && b.limits.Keys > 0 && next.Keys > b.limits.Keys {
		return fmt.Errorf("%w: %d keys", ErrExceeded, b.limits.Keys)
	}
	if next.Bytes > u.Bytes && b.limits.Bytes > 0 && next.Bytes > b.limits.Bytes {
		return fmt.Errorf("%w: %d bytes", ErrExceeded, b.limits.Bytes)
	}
	b.total.Keys += next.Keys - u.Keys
	b.total.Bytes += next.Bytes - u.Bytes
	b.used[job] = next
	return nil
}

// Remove books that a key is gone.
func (b *Book) Remove(job string, cost Usage) { _ = b.Add(job, cost, Usage{}) }

// Total is what all jobs keep.
func (b *Book) Total() Usage { return b.total }
