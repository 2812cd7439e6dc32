package jobset

import (
	"testing"
	"unicode/utf8"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
)

// A single invalid condition makes the API server reject the whole status, permanently. The texts in conditions come
// from users, from programs in their pods, and from the API server.
func FuzzConditionsAreValid(f *testing.F) {
	f.Add("node-lost", "no more", "no")
	f.Add("", "", "")
	f.Add("a:", "\n", "\xff")
	f.Add("9", "x", "y")
	f.Add("Knoten verloren\u00e9", "x", "y")
	f.Fuzz(func(t *testing.T, rule, message, refused string) {
		for _, text := range []*string{&rule, &message, &refused} {
			if !utf8.ValidString(*text) {
				return // the API server never stores invalid UTF-8
			}
		}
		long := func(text string) string { return repeat(text, 40000) }
		for _, text := range []func(string) string{func(text string) string { return text }, long} {
			js := MakeJobSet("a").Workers(1).MaxRestarts(1).Rule(v1alpha2.FailurePolicyRule{Name: text(rule), Action: v1alpha2.RestartJobSet}).
				Change(func(js *v1alpha2.JobSet) { js.Spec.Coordinator = &v1alpha2.Coordinator{ReplicatedJob: text(rule)} }).Obj()
			failed := MakeJob("a-workers-0", "workers").Failed(1, "BackoffLimitExceeded", text(message))
			s := &scope{jobSet: js, refused: text(refused)}
			s.Jobs = policy.SortJobs([]batchv1.Job{*failed.Obj()}, &js.Status, epoch.First())
			s.decide()
			s.decided = true
			status := s.status()
			if meta.FindStatusCondition(status.Conditions, string(v1alpha2.JobSetRestarting)) == nil {
				t.Fatalf("no restart: %+v", status.Conditions)
			}
			if errs := validation.ValidateConditions(status.Conditions, field.NewPath("status")); len(errs) > 0 {
				t.Errorf("rule %q: %v", rule, errs)
			}
			for _, c := range status.Conditions {
				if !utf8.ValidString(c.Message) {
					t.Errorf("message of %s is not valid UTF-8", c.Type)
				}
			}
		}
	})
}

// repeat repeats the text until it is at least the given length.
func repeat(text string, least int) string {
	if text == "" {
		return ""
	}
	all := make([]byte, 0, least+len(text))
	for len(all) < least {
		all = append(all, text...)
	}
	return string(all)
}
