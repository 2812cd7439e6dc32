package agent

import (
	"math"
	"slices"
	"sync"
	"time"
)

// Stopwatch takes the moments of one JobSet from its start on.
type Stopwatch struct {
	From time.Time

	mu      sync.Mutex
	starts  map[string]time.Time // last start of each slot's program
	orders  []time.Time
	down    time.Time // the last program has ended, and its agent knows
	ended   int
	lastEnd time.Time
}

// Watch starts a stopwatch for a JobSet; the one before is over.
func (c *Agents) Watch(jobSet string) *Stopwatch {
	s := &Stopwatch{From: time.Now(), starts: map[string]time.Time{}}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watches[jobSet] = s
	return s
}

func (c *Agents) watchOf(w Worker) *Stopwatch {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.watches[w.JobSet]
}

// began notes that a worker's program runs.
func (c *Agents) began(w Worker) {
	if s := c.watchOf(w); s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.starts[w.Slot] = time.Now()
	}
}

// ordered notes that an agent was ordered to restart its worker.
func (c *Agents) ordered(w Worker) {
	if s := c.watchOf(w); s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.orders = append(s.orders, time.Now())
	}
}

// died notes that an agent knows of the end of its worker's program.
func (c *Agents) died(w Worker) {
	if s := c.watchOf(w); s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.down = time.Now()
	}
}

func (s *Stopwatch) podEnded() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended, s.lastEnd = s.ended+1, time.Now()
}

// Started is how many workers' programs have started since then, and when the last did.
func (s *Stopwatch) Started() (n int, last time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, at := range s.starts {
		if at.After(last) {
			last = at
		}
	}
	return len(s.starts), last
}

// FirstStart is when the first did; zero if none has.
func (s *Stopwatch) FirstStart() (first time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, at := range s.starts {
		if first.IsZero() || at.Before(first) {
			first = at
		}
	}
	return first
}

// Down is when the last end of a program was known to its agent; zero without any.
func (s *Stopwatch) Down() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.down
}

// Ended is how many pods have ended, and when the last did.
func (s *Stopwatch) Ended() (n int, last time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended, s.lastEnd
}

// Order is when the given share of the orders had reached their agents; zero without any.
func (s *Stopwatch) Order(share float64) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.orders) == 0 {
		return time.Time{}
	}
	all := slices.SortedFunc(slices.Values(s.orders), time.Time.Compare)
	return all[max(0, int(math.Ceil(share*float64(len(all))))-1)]
}
