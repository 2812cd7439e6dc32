//go:build e2e && e2e_all

// Package permissions runs after all other suites and looks at what our programs have used of the rights that the charts give them. It needs
// no cluster: the suites leave what they have seen in e2e/results/rbac.
//
// Which programs have which account while suites run: what charts install (suites/charts/jobset, suites/inplace/failures, suites/charts, suites/docs,
// suites/elastic, suites/rescheduler, a part of suites/appwrapper) has the chart's; what the framework starts on the host (all others) has the one of the
// plain manifests, whose roles are the same. Administrators are the tests themselves, Kueue, the scheduler and the rendezvous server of
// suites/metrics, and the programs of benchmarks.
package permissions

import (
	"maps"
	"slices"
	"testing"

	"github.com/holdfast-project/holdfast/e2e/framework/audit"
	"github.com/holdfast-project/holdfast/e2e/framework/permissions"
	"github.com/holdfast-project/holdfast/e2e/testbed/binaries"
)

func look(t *testing.T) ([]audit.Grant, map[string]audit.Record) {
	t.Helper()
	root, err := binaries.Root()
	if err != nil {
		t.Fatal(err)
	}
	grants, err := permissions.Granted(root)
	if err != nil {
		t.Fatal(err)
	}
	records, err := permissions.Records(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(records) == 0 {
		t.Fatal("no suite has left a record: run make e2e-all")
	}
	t.Logf("suites: %q", slices.Sorted(maps.Keys(records)))
	return grants, records
}

// A right that nobody uses is one too many, unless the list says why it is there.
func TestEveryRightIsUsed(t *testing.T) {
	grants, records := look(t)
	for _, g := range audit.Unused(grants, slices.Collect(maps.Values(records))...) {
		if e, excused := g.Excused(excuses); excused {
			t.Logf("never used: %s (%s)", g, e.Why)
			continue
		}
		t.Errorf("never used: %s", g)
	}
}

// A right that is missing shows as a refusal, which a program may get over without a word.
func TestNothingIsRefused(t *testing.T) {
	_, records := look(t)
	for suite, record := range records {
		for request, times := range record.Lasting() {
			t.Errorf("%s: %d times refused: %s", suite, times, request)
		}
	}
}

// An excuse for a right that is not there hides nothing yet, and the next one of that name for ever.
func TestExcusesAreOfRightsThatAreThere(t *testing.T) {
	grants, _ := look(t)
	for _, e := range audit.Idle(excuses, grants) {
		t.Errorf("there is no right %q (%s)", e.Rights, e.Why)
	}
}
