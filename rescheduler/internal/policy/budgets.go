package policy

import (
	"fmt"
	"time"

	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
)

// Purpose names the budgets that a move draws on.
type Purpose struct {
	Workload, Node, Namespace string
}

// Budgets limits the rate of moves. Its state is lost when the process ends.
type Budgets struct {
	limits  settings.Limits
	breaker settings.Breaker
	buckets map[string]bucket
	opened  time.Time
	moves   []time.Time
}

type bucket struct {
	tokens float64
	at     time.Time
}

// NewBudgets returns full budgets.
func NewBudgets(limits settings.Limits, breaker settings.Breaker) *Budgets {
	return &Budgets{limits: limits, breaker: breaker, buckets: map[string]bucket{}}
}

// Take draws on all budgets or on none. If one is empty, it returns which one, and when it has capacity again.
func (b *Budgets) Take(p Purpose, now time.Time) (granted bool, why string, after time.Duration) {
	if left := b.Open(now); left > 0 {
		return false, fmt.Sprintf("the circuit breaker is open: more than %d pods were moved within %s", b.breaker.Moves, time.Duration(b.breaker.Window)), left
	}
	draws := b.draws(p)
	for _, d := range draws {
		if left := b.left(d.key, d.rate, now); d.rate.Burst > 0 && left < 1 {
			return false, "the budget " + d.name + " is used up", wait(left, d.rate)
		}
	}
	for _, d := range draws {
		if d.rate.Burst > 0 {
			b.buckets[d.key] = bucket{b.left(d.key, d.rate, now) - 1, now}
		}
	}
	b.note(now)
	return true, "", 0
}

// Return returns what Take granted for a move that was not made.
func (b *Budgets) Return(p Purpose) {
	for _, d := range b.draws(p) {
		if kept, found := b.buckets[d.key]; found && d.rate.Burst > 0 {
			b.buckets[d.key] = bucket{min(float64(d.rate.Burst), kept.tokens+1), kept.at}
		}
	}
	if len(b.moves) > 0 {
		b.moves = b.moves[:len(b.moves)-1]
	}
}

// draw is a withdrawal from one budget.
type draw struct {
	key, name string
	rate      settings.Rate
}

func (b *Budgets) draws(p Purpose) []draw {
	return []draw{
		{"w/" + p.Workload, "of the workload", b.limits.Workload},
		{"n/" + p.Node, "of node " + p.Node, b.limits.Node},
		{"s/" + p.Namespace, "of namespace " + p.Namespace, b.limits.Namespace},
		{"c", "of the cluster", b.limits.Cluster},
	}
}

func (b *Budgets) left(key string, rate settings.Rate, now time.Time) float64 {
	kept, found := b.buckets[key]
	if !found {
		return float64(rate.Burst)
	}
	gained := 0.0
	if rate.Every > 0 {
		gained = float64(now.Sub(kept.at)) / float64(rate.Every)
	}
	return min(float64(rate.Burst), kept.tokens+max(0, gained))
}

func wait(left float64, rate settings.Rate) time.Duration {
	if rate.Every <= 0 {
		return recheck
	}
	return max(time.Millisecond, time.Duration((1-left)*float64(rate.Every)))
}

// note counts the move for the breaker, and drops budgets that are full again.
func (b *Budgets) note(now time.Time) {
	if b.breaker.Moves > 0 {
		b.moves = append(b.moves, now)
		for len(b.moves) > 0 && now.Sub(b.moves[0]) >= time.Duration(b.breaker.Window) {
			b.moves = b.moves[1:]
		}
		if len(b.moves) > b.breaker.Moves {
			b.opened, b.moves = now, nil
		}
	}
	if len(b.buckets) > mostBuckets {
		for key, kept := range b.buckets {
			if now.Sub(kept.at) > time.Hour {
				delete(b.buckets, key)
			}
		}
	}
}

const mostBuckets = 4096

// Open returns how long the breaker stays open; 0 if it is closed.
func (b *Budgets) Open(now time.Time) time.Duration {
	if b.opened.IsZero() {
		return 0
	}
	return max(0, time.Duration(b.breaker.Pause)-now.Sub(b.opened))
}
