package agent

import (
	"math"
	"slices"
	"sync"
	"time"
)

// Stopwatch records times of one JobSet since From.
type Stopwatch struct {
	From time.Time

	mu      sync.Mutex
	starts  map[string]time.Time // last start of each slot's program
	orders  []time.Time
	down    time.Time // when an agent last detected the end of its program
	ended   int
	lastEnd time.Time
}

// Watch starts a stopwatch for a JobSet. It replaces any earlier one.
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

// began records that a worker's program is running.
func (c *Agents) began(w Worker) {
	if s := c.watchOf(w); s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.starts[w.Slot] = time.Now()
	}
}

// ordered records that an agent was ordered to restart its worker.
func (c *Agents) ordered(w Worker) {
	if s := c.watchOf(w); s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.orders = append(s.orders, time.Now())
	}
}

// died records that an agent has detected the end of its worker's program.
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

// Started returns how many workers' programs have started since From, and when the last one did.
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

// FirstStart returns when the first program started, or zero if none has.
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

// Down returns when an agent last detected the end of its program, or zero if none has.
func (s *Stopwatch) Down() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.down
}

// Ended returns how many pods have ended, and when the last one did.
func (s *Stopwatch) Ended() (n int, last time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended, s.lastEnd
}

// Order returns the time by which the given share of the orders had reached their agents, or zero if there were no
// orders.
func (s *Stopwatch) Order(share float64) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.orders) == 0 {
		return time.Time{}
	}
	all := slices.SortedFunc(slices.Values(s.orders), time.Time.Compare)
	return all[max(0, int(math.Ceil(share*float64(len(all))))-1)]
}
