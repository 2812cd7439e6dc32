package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-project/holdfast/e2e/framework"
)

func TestParse(t *testing.T) {
	o, err := parse([]string{"--pods=2000,8000", "--jobs=4"})
	if err != nil || !slices.Equal(o.sizes, []int{2000, 8000}) || o.workers() != 400 {
		t.Errorf("got %+v, %v", o, err)
	}
	for _, pods := range []string{"", "x", "1500", "2000,1000", "0"} {
		if _, err := parse([]string{"--pods=" + pods}); err == nil {
			t.Errorf("--pods=%s is accepted", pods)
		}
	}
}

func TestPage(t *testing.T) {
	o, err := parse(nil)
	if err != nil {
		t.Fatal(err)
	}
	text := o.text([]size{{
		Pods: 50_000, JobSets: 50, Program: "jobset-manager", Growing: framework.Usage{RSS: 300 << 20}, Rest: framework.Usage{RSS: 200 << 20, CPU: 0.3, Calls: 30},
		Start: framework.Usage{RSS: 250 << 20, CPU: 4.5, Calls: 77, Reconciles: 100, ReconcileTime: 0.25},
	}})
	for _, want := range []string{"up to 50000 running pods", "| 50000 | 50 | jobset-manager | 300 | 200 | 5.0 | 0.5 | 250 | 4.5 | 77 | 2.5 |", "10 Jobs of 100 pods"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
}

func TestJobSetsAreNamedByTheirFirstPod(t *testing.T) {
	if a, b := nameOf(0), nameOf(49_000); a != "train-000000" || b != "train-049000" {
		t.Errorf("%s, %s", a, b)
	}
}
