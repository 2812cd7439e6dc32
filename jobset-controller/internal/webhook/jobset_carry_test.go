package webhook

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
)

const carriedText = `{"failurePolicy":{"rules":[{"name":"q","action":"RestartJobSet"},{"name":"r","action":"RestartJobSet","maxRestarts":2}]},` +
	`"startupPolicy":{"startupPolicyOrder":"InOrder","rules":[{"targetReplicatedJobs":["a"],"waitForReplicatedJobsStatus":"Succeeded"}]}}`

// whole returns a JobSet that sets all fields that do not exist in the upstream types.
func whole() *JobSet {
	return MakeJobSet("a").Entry("a", 1).Entry("b", 1).WaitFor(v1alpha2.WaitForSucceeded, "a").
		Rule(v1alpha2.FailurePolicyRule{Name: "q", Action: v1alpha2.RestartJobSet}).
		Rule(v1alpha2.FailurePolicyRule{Name: "r", Action: v1alpha2.RestartJobSet, MaxRestarts: ptr.To[int32](2)})
}

// published returns the JobSet after a round trip through the upstream types.
func published(js *v1alpha2.JobSet) *v1alpha2.JobSet {
	js = js.DeepCopy()
	js.Spec.StartupPolicy.Rules = nil
	for i := range js.Spec.FailurePolicy.Rules {
		js.Spec.FailurePolicy.Rules[i].MaxRestarts = nil
	}
	return js
}

// MultiKueue reads a JobSet with the upstream types and creates it in another cluster.
func TestCopyOfMultiKueueEqualsTheOriginal(t *testing.T) {
	original := defaulted(t, nil, whole().Obj())
	if diff := cmp.Diff(carriedText, original.Annotations[v1alpha2.CarriedSpecKey]); diff != "" {
		t.Error(diff)
	}
	sent := published(original)
	sent.Labels = map[string]string{v1alpha2.MultiKueueOriginLabel: "here"}
	if diff := cmp.Diff(original.Spec, defaulted(t, nil, sent).Spec); diff != "" {
		t.Error(diff)
	}
}

func TestCarry(t *testing.T) {
	copied := func(js *v1alpha2.JobSet) { js.Labels = map[string]string{v1alpha2.MultiKueueOriginLabel: "here"} }
	annotated := func(text string) func(*v1alpha2.JobSet) {
		return func(js *v1alpha2.JobSet) { js.Annotations = map[string]string{v1alpha2.CarriedSpecKey: text} }
	}
	bare := published(whole().Obj())
	for name, c := range map[string]struct {
		js      *v1alpha2.JobSet
		changes []func(*v1alpha2.JobSet)
		rules   int    // number of startup policy rules after the webhook has run
		carried string // value of the annotation after the webhook has run
		refused bool
	}{
		"the spec takes precedence over the annotation":   {whole().Obj(), []func(*v1alpha2.JobSet){copied, annotated(`{}`)}, 1, carriedText, false},
		"a manifest to which a user added the annotation": {bare, []func(*v1alpha2.JobSet){annotated(carriedText)}, 0, "", false},
		"nothing to carry":                 {bare, []func(*v1alpha2.JobSet){copied}, 0, "", false},
		"a copy with a damaged annotation": {bare, []func(*v1alpha2.JobSet){copied, annotated("{")}, 0, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			js := c.js.DeepCopy()
			for _, change := range c.changes {
				change(js)
			}
			if err := carry(js); (err != nil) != c.refused {
				t.Fatal(err)
			}
			if c.refused {
				return
			}
			if got := len(js.Spec.StartupPolicy.Rules); got != c.rules {
				t.Errorf("%d rules", got)
			}
			if diff := cmp.Diff(c.carried, js.Annotations[v1alpha2.CarriedSpecKey]); diff != "" {
				t.Error(diff)
			}
		})
	}
}
