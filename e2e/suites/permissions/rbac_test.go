//go:build e2e && e2e_all

// Package permissions runs after all other suites. It checks which of the rights in the charts our programs have used.
// It does not need a cluster, because the suites save their records in e2e/results/rbac.
//
// Programs that a chart installs use the chart's account (suites/charts/jobset, suites/inplace/failures, suites/charts,
// suites/docs, suites/elastic, suites/rescheduler, a part of suites/appwrapper). Programs that the framework starts on
// the host (all other suites) use the account of the plain manifests, whose roles are the same. The tests themselves,
// Kueue, the scheduler and the rendezvous server of suites/metrics, and the programs of benchmarks are administrators.
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

// Every granted permission is used, unless a listed exception explains why it is needed.
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

// A missing right shows as a refused request. A program may ignore that silently.
func TestNoRequestIsRefused(t *testing.T) {
	_, records := look(t)
	for suite, record := range records {
		for request, times := range record.Lasting() {
			t.Errorf("%s: %d times refused: %s", suite, times, request)
		}
	}
}

// An excuse for a right that no longer exists would hide a later right of the same name.
func TestExcusesAreForExistingRights(t *testing.T) {
	grants, _ := look(t)
	for _, e := range audit.Idle(excuses, grants) {
		t.Errorf("there is no right %q (%s)", e.Rights, e.Why)
	}
}
