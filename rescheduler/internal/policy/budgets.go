package policy

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/time/rate"

	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
)

// BudgetKeys names the budgets that a move draws on.
type BudgetKeys struct {
	Workload, Node, Namespace string
}

// Budgets limits the rate of moves. Its state is lost when the process ends.
type Budgets struct {
	limits   settings.Limits
	breaker  settings.Breaker
	limiters map[string]*rate.Limiter
	opened   time.Time
	moves    []time.Time
}

// NewBudgets returns full budgets.
func NewBudgets(limits settings.Limits, breaker settings.Breaker) *Budgets {
	return &Budgets{limits: limits, breaker: breaker, limiters: map[string]*rate.Limiter{}}
}

// Take draws on all budgets or on none. If one is empty, refund is nil, why says which one, and after is the time until it has capacity
// again. Call refund if the move is not made.
func (b *Budgets) Take(p BudgetKeys, now time.Time) (refund func(), why string, after time.Duration) {
	if left := b.Open(now); left > 0 {
		return nil, fmt.Sprintf("the circuit breaker is open: more than %d pods were moved within %s", b.breaker.Moves, b.breaker.Window.Duration), left
	}
	var taken []*rate.Reservation
	for _, budget := range []struct {
		key, name string
		settings.Rate
	}{
		{"w/" + p.Workload, "of the workload", b.limits.Workload},
		{"n/" + p.Node, "of node " + p.Node, b.limits.Node},
		{"s/" + p.Namespace, "of namespace " + p.Namespace, b.limits.Namespace},
		{"c", "of the cluster", b.limits.Cluster},
	} {
		if budget.Burst == 0 {
			continue
		}
		if b.limiters[budget.key] == nil {
			b.limiters[budget.key] = rate.NewLimiter(rate.Every(budget.Every.Duration), budget.Burst)
		}
		r := b.limiters[budget.key].ReserveN(now, 1)
		taken = append(taken, r)
		if left := r.DelayFrom(now); left > 0 {
			cancel(taken, now)
			return nil, "the budget " + budget.name + " is used up", max(time.Millisecond, left)
		}
	}
	before := b.moves
	b.note(now)
	return func() {
		cancel(taken, now)
		if b.Open(now) > 0 { // because of this move
			b.opened, b.moves = time.Time{}, before
		} else {
			b.moves = b.moves[:max(0, len(b.moves)-1)]
		}
	}, "", 0
}

func cancel(taken []*rate.Reservation, now time.Time) {
	for _, r := range taken {
		r.CancelAt(now)
	}
}

// maxLimiters is the number of budgets above which full ones are dropped.
const maxLimiters = 4096

// note counts the move for the breaker.
func (b *Budgets) note(now time.Time) {
	if b.breaker.Moves > 0 {
		b.moves = append(b.moves, now)
		for len(b.moves) > 0 && now.Sub(b.moves[0]) >= b.breaker.Window.Duration {
			b.moves = b.moves[1:]
		}
		if len(b.moves) > b.breaker.Moves {
			b.opened, b.moves = now, nil
		}
	}
	if len(b.limiters) > maxLimiters {
		maps.DeleteFunc(b.limiters, func(_ string, l *rate.Limiter) bool { return l.TokensAt(now) >= float64(l.Burst()) })
	}
}

// Open returns how long the breaker stays open; 0 if it is closed.
func (b *Budgets) Open(now time.Time) time.Duration {
	return max(0, b.breaker.Pause.Duration-now.Sub(b.opened))
}

// Complaints counts the failures of pods of different workloads on each node, and decides which nodes to taint.
type Complaints struct {
	rules  settings.Blame
	byNode map[string][]complaint
}

type complaint struct {
	pod, workload string
	weight        int
	at            time.Time
}

// NewComplaints returns an empty set of complaints.
func NewComplaints(rules settings.Blame) *Complaints {
	return &Complaints{rules: rules, byNode: map[string][]complaint{}}
}

// maxComplaints is the maximum number of complaints about a node.
const maxComplaints = 256

// Add adds a pod's complaint. Only one complaint per pod counts.
func (c *Complaints) Add(node, pod, workload string, weight int, now time.Time) {
	kept := slices.DeleteFunc(c.byNode[node], func(old complaint) bool { return old.pod == pod || now.Sub(old.at) >= c.rules.Window.Duration })
	kept = append(kept, complaint{pod, workload, weight, now})
	c.byNode[node] = kept[max(0, len(kept)-maxComplaints):]
}

// Suffice reports whether the complaints about the node reach the threshold, from enough pods of enough workloads.
func (c *Complaints) Suffice(node string, now time.Time) bool {
	weight, pods, workloads := 0, 0, map[string]bool{}
	for _, one := range c.byNode[node] {
		if now.Sub(one.at) < c.rules.Window.Duration {
			weight, pods = weight+one.weight, pods+1
			workloads[one.workload] = true
		}
	}
	return weight >= c.rules.Threshold && pods >= c.rules.MinPods && len(workloads) >= c.rules.MinWorkloads
}

// MayTaint reports whether another node may be tainted, given the number of tainted nodes and the total number of nodes.
func (c *Complaints) MayTaint(tainted, nodes int) bool {
	return tainted < min(c.rules.MaxNodes, max(1, nodes*c.rules.MaxShare/100))
}

// Clear removes all complaints about the node.
func (c *Complaints) Clear(node string) { delete(c.byNode, node) }
