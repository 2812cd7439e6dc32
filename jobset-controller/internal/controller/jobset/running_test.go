package jobset

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/validation"
)

// The Running condition shows, both in printer columns and in its message, whether the JobSet is training and, if not,
// what it is waiting for.
func TestRunning(t *testing.T) {
	type status = v1alpha2.ReplicatedJobStatus
	js := func() *JobSet { return MakeJobSet("a").Entry("w", 2).Entry("x", 1) }
	jobs := func(n int) []*batchv1.Job { return make([]*batchv1.Job, n) }
	cases := map[string]struct {
		js     *JobSet
		change func(*scope)
		w, x   status
		want   string
	}{
		"pods are starting":  {js: js(), w: status{Ready: 1}, want: "False/WaitingForJobs: not all jobs are ready yet"},
		"all Jobs are ready": {js: js(), w: status{Ready: 1, Succeeded: 1}, x: status{Ready: 1}, want: "True/AllJobsReady: all jobs are ready or have succeeded"},
		"a stage must be ready": {js: js().InOrder(), w: status{Ready: 1},
			want: "False/WaitingForStage: some replicated jobs are waiting for others"},
		"a stage must succeed": {js: js().WaitFor(v1alpha2.WaitForSucceeded, "w"), w: status{Ready: 2},
			want: "False/WaitingForStage: some replicated jobs are waiting for others"},
		"the last stage is starting": {js: js().InOrder(), w: status{Ready: 2}, want: "False/WaitingForJobs: not all jobs are ready yet"},
		"a replicatedJob depends on another": {js: MakeJobSet("a").Entry("w", 2).Entry("x", 1, DependsOn("w", v1alpha2.DependencyComplete)), w: status{Ready: 2},
			want: "False/WaitingForStage: some replicated jobs are waiting for others"},
		"it is suspended": {js: js().Suspend(true), want: "False/JobSetSuspended: the JobSet is suspended"},
		"Jobs have failed": {js: js(), change: func(s *scope) { s.Jobs.Failed = jobs(1) },
			want: "False/Restarting: jobs are being recreated after a failure"},
		"Jobs are being deleted": {js: js(), change: func(s *scope) { s.Jobs.Previous = jobs(2) },
			want: "False/WaitingForDeletion: jobs from before the restart have not been deleted yet"},
		"the spec is invalid": {js: js().WaitFor(v1alpha2.WaitForReady, "nobody"), want: "False/NotAccepted: nothing is started, see condition Accepted"},
		"it completes": {js: js(), change: func(s *scope) { s.decided, s.decision.Outcome = true, policy.Complete },
			want: "False/JobSetCompleted: the JobSet has completed"},
		"it fails": {js: js(), change: func(s *scope) { s.decided, s.decision.Outcome = true, policy.Fail },
			want: "False/JobSetFailed: the JobSet has failed"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.w.Name, c.x.Name = "w", "x"
			s := &scope{jobSet: c.js.Obj(), Facts: policy.Facts{Tallies: []status{c.w, c.x}}, faults: validation.Of(c.js.Obj(), policy.Features{})}
			s.gates = policy.Gates(&c.js.Spec, s.Tallies)
			if c.change != nil {
				c.change(s)
			}
			condition := meta.FindStatusCondition(s.status().Conditions, "Running")
			if diff := cmp.Diff(c.want, string(condition.Status)+"/"+condition.Reason+": "+condition.Message); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAccepted(t *testing.T) {
	single := v1alpha2.FailurePolicyRule{Name: "r", Action: v1alpha2.RestartJob}
	bad := v1alpha2.FailurePolicyRule{Name: "r", Action: v1alpha2.FailJobSet, OnJobFailureMessagePatterns: []string{"("}}
	for name, c := range map[string]struct {
		js      *JobSet
		refused string
		created bool
		want    string
		stops   bool
	}{
		"nothing is wrong": {js: MakeJobSet("a").Workers(1), want: ""},
		"the API server has accepted the Jobs": {js: withConditions(MakeJobSet("a").Workers(1), isFalse("Accepted", "JobsRefused")), created: true,
			want: "True/SpecAccepted: the spec can be applied as written"},
		"it is not known yet whether the API server still refuses the Jobs": {js: withConditions(MakeJobSet("a").Workers(1), isFalse("Accepted", "JobsRefused")),
			want: "False/JobsRefused: "},
		"another spec is not known to be refused": {js: withConditions(MakeJobSet("a").Workers(1), isFalse("Accepted", "JobsRefused")).
			Change(func(js *v1alpha2.JobSet) { js.Generation = 2 }), want: "True/SpecAccepted: the spec can be applied as written"},
		"a feature is disabled": {js: MakeJobSet("a").Workers(1).Rule(single), want: "False/FeatureDisabled: spec.failurePolicy.rules[0].action: Forbidden: " +
			"RestartJob and RestartJobAndIgnoreMaxRestarts failure policy actions are not allowed when RestartJob feature gate is disabled; nothing is started"},
		"a fault that does not block the JobSet": {js: MakeJobSet("a").Workers(1).Rule(bad), want: "False/InvalidSpec: spec.failurePolicy.rules[0].onJobFailureMessagePatterns[0]: " +
			"Invalid value: \"(\": is not a regular expression (RE2): error parsing regexp: missing closing ): `(`; the rest is applied"},
		"an invalid sequence": {js: MakeJobSet("a").Workers(1).Entry("b", 1).WaitFor(v1alpha2.WaitForReady, "workers", "b"),
			want: "False/InvalidSpec: spec.startupPolicy.rules[0].targetReplicatedJobs[1]: Invalid value: \"b\": is the last replicatedJob: " +
				"no later replicatedJob can wait for it; nothing is started"},
		"the API server refuses the Jobs": {js: MakeJobSet("a").Workers(1), refused: "no", want: "False/JobsRefused: no"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &scope{jobSet: c.js.Obj(), refused: c.refused, jobsExist: c.created, faults: validation.Of(c.js.Obj(), policy.Features{})}
			s.Tallies = policy.Tally(&c.js.Spec, s.Jobs, nil)
			s.gates = policy.Gates(&c.js.Spec, s.Tallies)
			got := ""
			if condition := meta.FindStatusCondition(s.status().Conditions, "Accepted"); condition != nil {
				got = string(condition.Status) + "/" + condition.Reason + ": " + condition.Message
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
