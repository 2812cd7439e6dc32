package audit

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
)

// granted returns the permissions of two programs that share an account.
func granted() []Grant {
	all := Grants("jobset", false, []rbacv1.PolicyRule{
		{APIGroups: []string{"batch"}, Resources: []string{"jobs"}, Verbs: []string{"create", "delete", "watch"}},
		{APIGroups: []string{"jobset.x-k8s.io"}, Resources: []string{"jobsets", "jobsets/status"}, Verbs: []string{"patch"}},
		{NonResourceURLs: []string{"/version"}, Verbs: []string{"get"}},
	})
	all = append(all, Grants("jobset", true, []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"list"}},
		{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"jobset-webhook-server-cert", "other"}, Verbs: []string{"get"}},
	})...)
	all = append(all, Grants("orchestrator", false, []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"create", "patch", "get"}},
	})...)
	return append(all, Grants("orchestrator", true, []rbacv1.PolicyRule{
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "update"}},
	})...)
}

func sample(t *testing.T) Record {
	t.Helper()
	log, err := os.Open("testdata/audit.log")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	record, err := Collect(granted(), log)
	if err != nil {
		t.Fatal(err)
	}
	return record
}

func words(grants []Grant) []string {
	var all []string
	for _, g := range grants {
		all = append(all, g.String())
	}
	return all
}

func TestCollectFindsUsedRights(t *testing.T) {
	record := sample(t)
	if diff := cmp.Diff([]string{
		"jobset: create jobs.batch", "jobset: get secrets jobset-webhook-server-cert (own namespace)",
		"jobset: patch jobsets.jobset.x-k8s.io/status", "jobset: watch jobs.batch",
		"orchestrator: create pods", "orchestrator: get leases.coordination.k8s.io (own namespace)", "orchestrator: patch pods",
	}, words(record.Used)); diff != "" {
		t.Errorf("used (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{"jobset: list secrets": 1}, record.Refused); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
}

func TestUnused(t *testing.T) {
	more := Record{Used: []Grant{{Program: "orchestrator", Resource: "pods", Verb: "get"}}}
	if diff := cmp.Diff([]string{
		"jobset: delete jobs.batch", // only an administrator and an unknown program did this
		"jobset: get secrets other (own namespace)",
		"jobset: list secrets (own namespace)", // rejected in another namespace
		"jobset: patch jobsets.jobset.x-k8s.io",
		"orchestrator: update leases.coordination.k8s.io (own namespace)",
	}, words(Unused(granted(), sample(t), more))); diff != "" {
		t.Errorf("unused (-want +got):\n%s", diff)
	}
}

func TestAGetCountsAsUsedWithAList(t *testing.T) {
	grants := Grants("jobset", false, []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods", "nodes"}, Verbs: []string{"get", "list"}}})
	used := Record{Used: []Grant{{Program: "jobset", Resource: "pods", Verb: "list"}, {Program: "other", Resource: "nodes", Verb: "list"}}}
	if diff := cmp.Diff([]string{"jobset: get nodes", "jobset: list nodes"}, words(Unused(grants, used))); diff != "" {
		t.Errorf("unused (-want +got):\n%s", diff)
	}
}

func TestExcuses(t *testing.T) {
	excuses := []Excuse{{Rights: "*: update leases.coordination.k8s.io (own namespace)"}, {Rights: "jobset: delete pods"}}
	unused := Unused(granted(), sample(t))
	var excused []string
	for _, g := range unused {
		if _, is := g.Excused(excuses); is {
			excused = append(excused, g.String())
		}
	}
	if want := []string{"orchestrator: update leases.coordination.k8s.io (own namespace)"}; !slices.Equal(excused, want) {
		t.Errorf("excused: %q, want %q", excused, want)
	}
	if idle := Idle(excuses, granted()); len(idle) != 1 || idle[0].Rights != "jobset: delete pods" {
		t.Errorf("idle excuses: %v", idle)
	}
}

func TestALineThatIsNotAnEventIsAnError(t *testing.T) {
	if _, err := Collect(granted(), strings.NewReader("{}\nnonsense\n{}\n")); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("error %v, want one about line 2", err)
	}
}

// Rejections are left out if the same request was ever allowed.
func TestLastingRefusals(t *testing.T) {
	r := Record{
		Used: []Grant{
			{Program: "jobset", Own: true, Group: "coordination.k8s.io", Resource: "leases", Verb: "get"},
			{Program: "jobset", Own: true, Resource: "secrets", Verb: "get", Name: "cert"},
			{Program: "jobset", Resource: "pods", Verb: "list"},
		},
		Refused: map[string]int{
			"jobset: get leases.coordination.k8s.io (own namespace)": 2, "jobset: get secrets (own namespace)": 1, "jobset: list pods (own namespace)": 1,
			"jobset: get leases.coordination.k8s.io": 3, "jobset: update leases.coordination.k8s.io (own namespace)": 4,
		},
	}
	want := map[string]int{"jobset: get leases.coordination.k8s.io": 3, "jobset: update leases.coordination.k8s.io (own namespace)": 4}
	if diff := cmp.Diff(want, r.Lasting()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(r.Refused) != 5 {
		t.Error("Lasting has changed the record")
	}
}
