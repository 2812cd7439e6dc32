//go:build envtest

package v1alpha2_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/testing/apiserver"
)

var config *rest.Config

func TestMain(m *testing.M) {
	os.Exit(apiserver.Main(m, &config, "../../../charts/jobset-controller/files/crds"))
}

func newClient(t *testing.T) client.Client {
	t.Helper()
	c, err := client.New(config, client.Options{Scheme: runtime.NewScheme()})
	if err != nil {
		t.Fatal(err)
	}
	return client.NewNamespacedClient(c, "default")
}

// parse parses the YAML of a JobSet.
func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		t.Fatal(err)
	}
	object.SetGroupVersionKind(v1alpha2.GroupVersion.WithKind("JobSet"))
	object.SetGenerateName("a-")
	return object
}

const entry = `{name: %s, template: {spec: {template: {spec: {containers: [{name: c, image: i}]}}}}%s}`

func spec(parts ...string) string { return "spec: {" + strings.Join(parts, ", ") + "}" }

func entries(list ...string) string { return "replicatedJobs: [" + strings.Join(list, ", ") + "]" }

func TestExamplesAreAccepted(t *testing.T) {
	for _, file := range examples(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		object := parse(t, string(text))
		if err := newClient(t).Create(t.Context(), object, client.DryRunAll, client.FieldValidation("Strict")); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestCreate(t *testing.T) {
	one := fmt.Sprintf(entry, "a", "")
	cases := map[string]struct{ spec, refusal string }{
		"a JobSet without a spec is accepted":             {"{}", ""},
		"a JobSet without entries is accepted":            {spec("suspend: true"), ""},
		"zero replicas are accepted":                      {spec(entries(fmt.Sprintf(entry, "a", ", replicas: 0"))), ""},
		"negative replicas are refused":                   {spec(entries(fmt.Sprintf(entry, "a", ", replicas: -1"))), "spec.replicatedJobs[0].replicas"},
		"two entries with the same name are refused":      {spec(entries(one, one)), "spec.replicatedJobs[1]"},
		"a negative maxRestarts is accepted, as upstream": {spec("failurePolicy: {maxRestarts: -1}"), ""},
		"an unknown restart strategy is refused":          {spec("failurePolicy: {restartStrategy: Sometimes}"), "spec.failurePolicy.restartStrategy"},
		"an unknown action is refused":                    {spec("failurePolicy: {rules: [{name: a, action: Shrug}]}"), "spec.failurePolicy.rules[0].action"},
		"an empty rule name is accepted":                  {spec("failurePolicy: {rules: [{name: '', action: FailJobSet}]}"), ""},
		"a rule without a name is refused":                {spec("failurePolicy: {rules: [{action: FailJobSet}]}"), "spec.failurePolicy.rules[0].name"},
		"a rule with its own maxRestarts is accepted":     {spec("failurePolicy: {rules: [{name: a, action: RestartJobSet, maxRestarts: 0}]}"), ""},
		"a rule with a negative number is refused":        {spec("failurePolicy: {rules: [{name: a, action: RestartJobSet, maxRestarts: -1}]}"), "spec.failurePolicy.rules[0].maxRestarts"},
		"an unknown order is refused":                     {spec("startupPolicy: {startupPolicyOrder: Whim}"), "spec.startupPolicy.startupPolicyOrder"},
		"a startup rule for an unknown state is refused":  {spec("startupPolicy: {startupPolicyOrder: InOrder, rules: [{targetReplicatedJobs: [a], waitForReplicatedJobsStatus: Complete}]}"), "spec.startupPolicy.rules[0].waitForReplicatedJobsStatus"},
		"a startup rule without targets is refused":       {spec("startupPolicy: {startupPolicyOrder: InOrder, rules: [{}]}"), "spec.startupPolicy.rules[0].targetReplicatedJobs"},
		"an unknown dependency status is refused":         {spec(entries(one, fmt.Sprintf(entry, "b", ", dependsOn: [{name: a, status: Succeeded}]"))), "spec.replicatedJobs[1].dependsOn[0].status"},
		"six dependencies are refused": {spec(entries(one, fmt.Sprintf(entry, "b",
			", dependsOn: [{name: a, status: Ready}, {name: c, status: Ready}, {name: d, status: Ready}, {name: e, status: Ready}, {name: f, status: Ready}, {name: g, status: Ready}]"))), "spec.replicatedJobs[1].dependsOn"},
		"a coordinator without an entry is refused": {spec("coordinator: {jobIndex: 1}"), "spec.coordinator.replicatedJob"},
		"an unknown retention policy is refused":    {spec("volumeClaimPolicies: [{retentionPolicy: {whenDeleted: Perhaps}}]"), "spec.volumeClaimPolicies[0].retentionPolicy.whenDeleted"},
		"an unknown operator is refused":            {spec("successPolicy: {operator: Most}"), "spec.successPolicy.operator"},
		"a negative time to live is refused":        {spec("ttlSecondsAfterFinished: -1"), "spec.ttlSecondsAfterFinished"},
		"in order with dependsOn is refused": {spec("startupPolicy: {startupPolicyOrder: InOrder}",
			entries(one, fmt.Sprintf(entry, "b", ", dependsOn: [{name: a, status: Ready}]"))), "mutually exclusive"},
		"any order with dependsOn is accepted": {spec("startupPolicy: {startupPolicyOrder: AnyOrder}",
			entries(one, fmt.Sprintf(entry, "b", ", dependsOn: [{name: a, status: Complete}]"))), ""},
		"in order without entries is accepted": {spec("startupPolicy: {startupPolicyOrder: InOrder}"), ""},
		"a claim template in another namespace is refused": {
			spec("volumeClaimPolicies: [{templates: [{metadata: {name: a, namespace: b}, spec: {}}]}]"), "namespace cannot be set"},
		"a claim template without a namespace is accepted": {spec("volumeClaimPolicies: [{templates: [{metadata: {name: a}, spec: {}}]}]"), ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			requireRefusal(t, newClient(t).Create(t.Context(), parse(t, c.spec), client.DryRunAll), c.refusal)
		})
	}
}

func TestUpdate(t *testing.T) {
	one := entries(fmt.Sprintf(entry, "a", ""), fmt.Sprintf(entry, "b", ", dependsOn: [{name: a, status: Ready}]"))
	cases := map[string]struct{ before, after, refusal string }{
		"suspend may change":                {spec("suspend: true"), spec("suspend: false"), ""},
		"ttlSecondsAfterFinished may":       {spec("ttlSecondsAfterFinished: 1"), spec("ttlSecondsAfterFinished: 2"), ""},
		"coordinator may change":            {spec("coordinator: {replicatedJob: a}"), spec("coordinator: {replicatedJob: b}"), ""},
		"a failure policy may be added":     {spec(), spec("failurePolicy: {maxRestarts: 1}"), ""},
		"a failure policy may not change":   {spec("failurePolicy: {maxRestarts: 1}"), spec("failurePolicy: {maxRestarts: 2}"), "spec.failurePolicy"},
		"a success policy may not change":   {spec("successPolicy: {operator: All}"), spec("successPolicy: {operator: Any}"), "spec.successPolicy"},
		"a startup rule may not change":     {spec("startupPolicy: {startupPolicyOrder: InOrder, rules: [{targetReplicatedJobs: [a]}]}"), spec("startupPolicy: {startupPolicyOrder: InOrder, rules: [{targetReplicatedJobs: [b]}]}"), "spec.startupPolicy"},
		"startup rules may not be removed":  {spec("startupPolicy: {startupPolicyOrder: InOrder, rules: [{targetReplicatedJobs: [a]}]}"), spec("startupPolicy: {startupPolicyOrder: InOrder}"), "spec.startupPolicy"},
		"network may not change":            {spec("network: {subdomain: a}"), spec("network: {subdomain: b}"), "spec.network"},
		"the startup policy may not change": {spec("startupPolicy: {startupPolicyOrder: AnyOrder}"), spec("startupPolicy: {startupPolicyOrder: InOrder}"), "spec.startupPolicy"},
		"volume claims may not change":      {spec("volumeClaimPolicies: [{}]"), spec("volumeClaimPolicies: [{}, {}]"), "spec.volumeClaimPolicies"},
		"dependsOn may not change":          {spec(one), spec(strings.Replace(one, "Ready", "Complete", 1)), "spec.replicatedJobs[1].dependsOn"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			live, k8s := parse(t, c.before), newClient(t)
			if err := k8s.Create(t.Context(), live); err != nil {
				t.Fatal(err)
			}
			live.Object["spec"] = parse(t, c.after).Object["spec"]
			requireRefusal(t, k8s.Update(t.Context(), live), c.refusal)
		})
	}
}

func TestDefaults(t *testing.T) {
	live := parse(t, spec(entries(fmt.Sprintf(entry, "a", "")), "failurePolicy: {}", "startupPolicy: {startupPolicyOrder: InOrder, rules: [{targetReplicatedJobs: [a]}]}",
		"volumeClaimPolicies: [{retentionPolicy: {}}]"))
	if err := newClient(t).Create(t.Context(), live, client.DryRunAll); err != nil {
		t.Fatal(err)
	}
	got := live.Object["spec"].(map[string]any)
	job := got["replicatedJobs"].([]any)[0].(map[string]any)
	delete(job, "template")
	want := map[string]any{
		"failurePolicy":       map[string]any{"restartStrategy": "Recreate"},
		"replicatedJobs":      []any{map[string]any{"name": "a", "groupName": "default", "replicas": int64(1)}},
		"startupPolicy":       map[string]any{"startupPolicyOrder": "InOrder", "rules": []any{map[string]any{"targetReplicatedJobs": []any{"a"}, "waitForReplicatedJobsStatus": "Ready"}}},
		"volumeClaimPolicies": []any{map[string]any{"retentionPolicy": map[string]any{"whenDeleted": "Delete"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// requireRefusal requires an error that contains the text, or no error if the text is empty.
func requireRefusal(t *testing.T, err error, refusal string) {
	t.Helper()
	switch {
	case refusal == "" && err != nil:
		t.Errorf("refused: %v", err)
	case refusal != "" && (err == nil || !strings.Contains(err.Error(), refusal)):
		t.Errorf("got %v, want a rejection that names %s", err, refusal)
	}
}
