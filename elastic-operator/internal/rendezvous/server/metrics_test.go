package server

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-project/holdfast/elastic-operator/internal/rendezvous/tcpstore"
)

// counters returns how many series each labelled metric has in a /metrics response.
func counters(page string) map[string]int {
	found := map[string]int{}
	for _, match := range regexp.MustCompile(`(?m)^holdfast_rendezvous_(\w+_total){`).FindAllStringSubmatch(page, -1) {
		found[match[1]]++
	}
	return found
}

func TestEveryCounterStartsAtZero(t *testing.T) {
	w := start(t, nil)
	page := w.page("/metrics")
	want := map[string]int{"opened_total": 2, "requests_total": 11}
	if diff := cmp.Diff(want, counters(page)); diff != "" {
		t.Error(diff)
	}
	for _, series := range []string{
		"refused_total", `opened_total{reason="left"}`, `requests_total{operation="compare_set"}`,
	} {
		if !strings.Contains(page, "holdfast_rendezvous_"+series+" 0\n") {
			t.Errorf("no %s among the metrics:\n%s", series, page)
		}
	}
}

func TestCountedSeriesExistBefore(t *testing.T) {
	w := start(t, nil)
	before := counters(w.page("/metrics"))
	for _, dialect := range []tcpstore.Dialect{tcpstore.Classic, tcpstore.Validated} {
		c := w.client(dialect)
		c.set(key, "1")
		c.get(key)
	}
	if diff := cmp.Diff(before, counters(w.page("/metrics"))); diff != "" {
		t.Error(diff)
	}
}
