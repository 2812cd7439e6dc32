package policy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
)

func second(n int) settings.Rate {
	return settings.Rate{Burst: n, Every: metav1.Duration{Duration: time.Second}}
}

func breaker(moves int, window, pause time.Duration) settings.Breaker {
	return settings.Breaker{Moves: moves, Window: metav1.Duration{Duration: window}, Pause: metav1.Duration{Duration: pause}}
}

func hourly() settings.Rate {
	return settings.Rate{Burst: 1, Every: metav1.Duration{Duration: time.Hour}}
}

var budgetKeys = BudgetKeys{Workload: "w", Node: "a", Namespace: "s"}

func TestEachBudgetLimitsMoves(t *testing.T) {
	for name, c := range map[string]struct {
		limits settings.Limits
		other  BudgetKeys // draws on another budget
		want   string
	}{
		"of a workload":  {settings.Limits{Workload: second(2)}, BudgetKeys{"x", "a", "s"}, "of the workload"},
		"of a node":      {settings.Limits{Node: second(2)}, BudgetKeys{"w", "x", "s"}, "of node a"},
		"of a namespace": {settings.Limits{Namespace: second(2)}, BudgetKeys{"w", "a", "x"}, "of namespace s"},
		"of the cluster": {settings.Limits{Cluster: second(2)}, BudgetKeys{}, "of the cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			b := NewBudgets(c.limits, settings.Breaker{})
			for range 2 {
				if refund, why, _ := b.Take(budgetKeys, noon); refund == nil {
					t.Fatal(why)
				}
			}
			refund, why, after := b.Take(budgetKeys, noon)
			if refund != nil || !strings.Contains(why, c.want) || after != time.Second {
				t.Errorf("got %t, %q, %s", refund != nil, why, after)
			}
			if c.other != (BudgetKeys{}) {
				if refund, why, _ := b.Take(c.other, noon); refund == nil {
					t.Errorf("another move is refused, too: %s", why)
				}
			}
			if refund, why, _ := b.Take(budgetKeys, noon.Add(after)); refund == nil {
				t.Errorf("not granted at the announced time: %s", why)
			}
		})
	}
}

func TestRefusedMoveUsesNoBudget(t *testing.T) {
	b := NewBudgets(settings.Limits{Workload: second(1), Cluster: second(2)}, settings.Breaker{})
	b.Take(budgetKeys, noon)
	b.Take(budgetKeys, noon) // rejected
	if refund, why, _ := b.Take(BudgetKeys{Workload: "x"}, noon); refund == nil {
		t.Error(why)
	}
}

func TestBudgetFillsUpToBurst(t *testing.T) {
	b := NewBudgets(settings.Limits{Node: second(3)}, settings.Breaker{})
	b.Take(budgetKeys, noon)
	granted := 0
	for range 10 {
		if refund, _, _ := b.Take(budgetKeys, noon.Add(time.Hour)); refund != nil {
			granted++
		}
	}
	if granted != 3 {
		t.Errorf("%d simultaneous moves", granted)
	}
}

func TestBreaker(t *testing.T) {
	b := NewBudgets(settings.Limits{}, breaker(3, time.Minute, 10*time.Minute))
	for i := range 4 {
		if refund, why, _ := b.Take(BudgetKeys{Workload: fmt.Sprint(i)}, noon); refund == nil {
			t.Fatal(why)
		}
	}
	refund, why, after := b.Take(BudgetKeys{Workload: "x"}, noon.Add(time.Minute))
	if refund != nil || !strings.Contains(why, "circuit breaker is open") || after != 9*time.Minute {
		t.Errorf("got %t, %q, %s", refund != nil, why, after)
	}
	if refund, why, _ := b.Take(BudgetKeys{}, noon.Add(10*time.Minute)); refund == nil {
		t.Errorf("still open: %s", why)
	}
}

func TestSlowMovesKeepBreakerClosed(t *testing.T) {
	b := NewBudgets(settings.Limits{}, breaker(3, time.Minute, time.Minute))
	for i := range 50 {
		if refund, why, _ := b.Take(budgetKeys, noon.Add(time.Duration(i)*20*time.Second)); refund == nil {
			t.Fatalf("move %d: %s", i, why)
		}
	}
}

func TestZeroMeansNoLimit(t *testing.T) {
	b := NewBudgets(settings.Limits{}, settings.Breaker{})
	for range 1000 {
		if refund, why, _ := b.Take(budgetKeys, noon); refund == nil {
			t.Fatal(why)
		}
	}
}

func TestOldBudgetsAreForgotten(t *testing.T) {
	b := NewBudgets(settings.Limits{Workload: second(1)}, settings.Breaker{})
	for i := range 2 * maxLimiters {
		b.Take(BudgetKeys{Workload: fmt.Sprint(i)}, noon.Add(time.Duration(i)*time.Minute))
	}
	if len(b.limiters) > maxLimiters+1 {
		t.Errorf("%d limiters", len(b.limiters))
	}
}

// A move that was blocked by a PodDisruptionBudget was not made. Attempts must not open the breaker.
func TestBlockedMoveIsReturnedToBudget(t *testing.T) {
	limits := settings.Limits{Workload: hourly(), Node: hourly(), Namespace: hourly(), Cluster: hourly()}
	b := NewBudgets(limits, breaker(2, time.Hour, time.Hour))
	p := BudgetKeys{Workload: "w", Node: "n", Namespace: "s"}
	for i := range 10 {
		refund, why, _ := b.Take(p, noon)
		if refund == nil {
			t.Fatalf("try %d: %s", i+1, why)
		}
		refund()
	}
	if refund, _, _ := b.Take(p, noon); refund == nil || b.Open(noon) > 0 {
		t.Error("no move is allowed, although nothing was moved")
	}
	if refund, _, _ := b.Take(p, noon); refund != nil {
		t.Error("the budget exceeds its burst")
	}
}

// The last move before the breaker opens was blocked. The breaker closes again, and the earlier moves still count.
func TestBlockedMoveClosesTheBreaker(t *testing.T) {
	b := NewBudgets(settings.Limits{}, breaker(2, time.Hour, time.Hour))
	take := func() func() {
		refund, _, _ := b.Take(budgetKeys, noon)
		return refund
	}
	take()
	take()
	for range 3 {
		blocked := take()
		if blocked == nil {
			t.Fatal("the breaker is open after a blocked move")
		}
		blocked()
	}
	if take() == nil || b.Open(noon) != time.Hour {
		t.Errorf("after three moves, the breaker is open for %s", b.Open(noon))
	}
}
