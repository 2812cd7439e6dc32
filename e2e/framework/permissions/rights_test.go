package permissions

import (
	"slices"
	"testing"

	"github.com/holdfast-project/holdfast/e2e/framework/audit"
	"github.com/holdfast-project/holdfast/e2e/testbed/binaries"
)

func TestEveryProgramHasRights(t *testing.T) {
	root, err := binaries.Root()
	if err != nil {
		t.Fatal(err)
	}
	grants, err := Granted(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []audit.Grant{
		{Program: "jobset", Group: "batch", Resource: "jobs", Verb: "create"},
		{Program: "jobset", Own: true, Resource: "secrets", Verb: "update", Name: "jobset-webhook-server-cert"},
		{Program: "orchestrator", Own: true, Group: "coordination.k8s.io", Resource: "leases", Verb: "update"},
		{Program: "appwrapper", Group: "workload.codeflare.dev", Resource: "appwrappers/status", Verb: "patch"},
		{Program: "elastic-operator", Resource: "pods", Verb: "create"},
		{Program: "elastic-kueue", Group: "kueue.x-k8s.io", Resource: "workloads", Verb: "create"},
		{Program: "rescheduler", Resource: "pods/eviction", Verb: "create"},
		{Program: "rescheduler-scheduler", Resource: "pods", Verb: "patch"},
	} {
		if !slices.Contains(grants, want) {
			t.Errorf("no program may %s", want)
		}
	}
	for _, g := range grants {
		if g.Verb == "deletecollection" {
			t.Errorf("a role for users is attributed to a program: %s", g)
		}
	}
}
