package main

import (
	"strings"
	"testing"
	"time"
)

func resultOf(way string, killed ...time.Duration) result {
	r := result{Way: way, Measured: "2026-11-24", Outcomes: map[string][]outcome{}}
	for _, total := range killed {
		r.Outcomes["killed"] = append(r.Outcomes["killed"], outcome{Total: total, Load: 2})
	}
	return r
}

func TestPage(t *testing.T) {
	text := page([]result{
		resultOf(torchrunDefault, 5*time.Second), resultOf(torchrunBest, 3*time.Second, 0, 4*time.Second, 3*time.Second),
		resultOf(warmStart, time.Second, 2*time.Second, 3*time.Second), resultOf(recreate, 9*time.Second),
	})
	for _, want := range []string{
		"| warm start is 2 times as fast as torchrun alone, at the better interval | 1.5 times, missed |\n",
		"| warm start is 5 times as fast as Recreate | 4.5 times, missed |\n",
		"| Holdfast exec, warm start | 2.00 (1.00-3.00) | - | - | 3 | 2026-11-24 | 2-2 |\n",
		"| torchrun, monitor interval 0.01 s | 3.00 (3.00-4.00), 1 of 4 more than 90 | - | - | 4 | 2026-11-24 | 2-2 |\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no line %q in\n%s", want, text)
		}
	}
	if n := strings.Count(text, "| "+podEnd+" |"); n != 1 {
		t.Errorf("%d tables have the end of a pod, want that of the deleted pod", n)
	}
	if text := page([]result{resultOf(warmStart, time.Second)}); !strings.Contains(text, "Recreate | not measured |\n") {
		t.Error("a target is met although it was not measured")
	}
}
