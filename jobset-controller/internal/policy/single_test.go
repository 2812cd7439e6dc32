package policy

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
)

func TestSingleJobsRestart(t *testing.T) {
	alone := v1alpha2.FailurePolicyRule{Name: "alone", Action: v1alpha2.RestartJob, TargetReplicatedJobs: []string{"w"}}
	free := v1alpha2.FailurePolicyRule{Name: "free", Action: v1alpha2.RestartJobAndIgnoreMaxRestarts, TargetReplicatedJobs: []string{"w"}}
	stop := v1alpha2.FailurePolicyRule{Name: "stop", Action: v1alpha2.FailJobSet, TargetReplicatedJobs: []string{"d"}}
	twice := alone
	twice.MaxRestarts = ptr.To[int32](2)
	w := func(index, second int) *Job {
		return MakeJob("js-w-"+string(rune('0'+index)), "w").Index(index).Failed(second, "BackoffLimitExceeded", "")
	}
	d := MakeJob("js-d-0", "d").Index(0).Failed(9, "BackoffLimitExceeded", "")
	js := func(n int32, rules ...v1alpha2.FailurePolicyRule) *JobSet {
		js := MakeJobSet("js").Entry("w", 4).Entry("d", 1).MaxRestarts(n)
		for _, rule := range rules {
			js.Rule(rule)
		}
		return js
	}
	counted := func(js *JobSet, counts ...int32) *JobSet {
		js.Status.ReplicatedJobsStatus = []v1alpha2.ReplicatedJobStatus{{Name: "w", JobRestartsCountTowardsMax: counts}}
		return js
	}
	caused := func(js *JobSet, rule string, n int32) *JobSet {
		js.Status.RuleRestarts = []v1alpha2.RuleRestarts{{Name: rule, Restarts: n}}
		return js
	}
	cases := map[string]struct {
		js   *JobSet
		jobs []*Job
		want verdict
	}{
		"one Job": {js(1, alone), []*Job{w(1, 5)},
			verdict{Outcome: RestartJobs, Reason: "FailurePolicy_alone", Action: v1alpha2.RestartJob, Job: "js-w-1", Alone: " js-w-1+"}},
		"several at once, the earliest first": {js(3, alone), []*Job{w(2, 7), w(1, 5), w(0, 6)},
			verdict{Outcome: RestartJobs, Reason: "FailurePolicy_alone", Action: v1alpha2.RestartJob, Job: "js-w-1", Alone: " js-w-1+ js-w-0+ js-w-2+"}},
		"one that does not count": {js(0, free), []*Job{w(1, 5)},
			verdict{Outcome: RestartJobs, Reason: "FailurePolicy_free", Action: v1alpha2.RestartJobAndIgnoreMaxRestarts, Job: "js-w-1", Alone: " js-w-1"}},
		"each has its rule, in the order of the rules": {
			js(1, v1alpha2.FailurePolicyRule{Name: "deadline", Action: v1alpha2.RestartJobAndIgnoreMaxRestarts, OnJobFailureReasons: []string{"DeadlineExceeded"}}, alone),
			[]*Job{w(1, 5), MakeJob("js-w-2", "w").Index(2).Failed(8, "DeadlineExceeded", "")},
			verdict{Outcome: RestartJobs, Reason: "FailurePolicy_deadline", Action: v1alpha2.RestartJobAndIgnoreMaxRestarts, Job: "js-w-2", Alone: " js-w-2 js-w-1+"}},
		"the budget is for the JobSet": {counted(js(2, alone), 1, 0, 1), []*Job{w(1, 5)},
			verdict{Outcome: Fail, Reason: "ReachedMaxRestarts", Job: "js-w-1"}},
		"restarts of all Jobs use it up too": {js(2, alone).Restarts(2, 2), []*Job{w(1, 5).Attempt(2)},
			verdict{Outcome: Fail, Reason: "ReachedMaxRestarts", Job: "js-w-1"}},
		"two failures need two restarts": {js(1, alone), []*Job{w(1, 5), w(2, 6)},
			verdict{Outcome: Fail, Reason: "ReachedMaxRestarts", Job: "js-w-2"}},
		"single restarts use up the budget of all": {counted(js(2), 1, 1), []*Job{d},
			verdict{Outcome: Fail, Reason: "ReachedMaxRestarts", Job: "js-d-0"}},
		"a restart of all Jobs takes precedence": {js(1, alone), []*Job{w(1, 5), d},
			verdict{Outcome: Restart, Reason: "DefaultFailurePolicy", Counts: true, Action: v1alpha2.RestartJobSet, Job: "js-d-0"}},
		"so does a failure of the JobSet": {js(1, alone, stop), []*Job{w(1, 5), d},
			verdict{Outcome: Fail, Reason: "FailJobSetFailurePolicyAction", Job: "js-d-0"}},
		"a Job without a counter restarts all": {js(1, alone), []*Job{MakeJob("js-w-9", "w").Index(MaxSingleRestarts).Failed(1, "", "")},
			verdict{Outcome: Restart, Reason: "FailurePolicy_alone", Counts: true, Action: v1alpha2.RestartJob, Job: "js-w-9"}},
		"a rule with restarts left": {caused(js(9, twice), "alone", 1), []*Job{w(1, 5)},
			verdict{Outcome: RestartJobs, Reason: "FailurePolicy_alone", Action: v1alpha2.RestartJob, Job: "js-w-1", Alone: " js-w-1+"}},
		"a rule without any no longer matches": {caused(js(9, twice), "alone", 2), []*Job{w(1, 5)},
			verdict{Outcome: Restart, Reason: "DefaultFailurePolicy", Counts: true, Action: v1alpha2.RestartJobSet, Job: "js-w-1"}},
		"the next rule then decides": {caused(js(0, twice, free), "alone", 2), []*Job{w(1, 5)},
			verdict{Outcome: RestartJobs, Reason: "FailurePolicy_free", Action: v1alpha2.RestartJobAndIgnoreMaxRestarts, Job: "js-w-1", Alone: " js-w-1"}},
		"a rule's last restart goes to the earliest": {caused(js(9, twice, free), "alone", 1), []*Job{w(1, 5), w(2, 6)},
			verdict{Outcome: RestartJobs, Reason: "FailurePolicy_alone", Action: v1alpha2.RestartJob, Job: "js-w-1", Alone: " js-w-1+ js-w-2"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, verdictOf(decide(t, c.js, c.jobs...))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCountRestarts(t *testing.T) {
	js := MakeJobSet("js").Entry("w", 3).Entry("d", 1)
	before := []v1alpha2.ReplicatedJobStatus{{Name: "w", JobRestarts: []int32{0, 1, 0}}, {Name: "d"}}
	got := CountRestarts(&js.Spec, before, []Ruling{
		{Job: MakeJob("js-w-1", "w").Index(1).Obj(), Action: v1alpha2.RestartJob},
		{Job: MakeJob("js-d-0", "d").Index(0).Obj(), Action: v1alpha2.RestartJobAndIgnoreMaxRestarts},
		{Job: MakeJob("js-x-0", "x").Index(0).Obj(), Action: v1alpha2.RestartJob},
	})
	want := []v1alpha2.ReplicatedJobStatus{
		{Name: "w", JobRestarts: []int32{0, 2, 0}, JobRestartsCountTowardsMax: []int32{0, 1, 0}},
		{Name: "d", JobRestarts: []int32{1}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if before[0].JobRestarts[1] != 1 {
		t.Error("the given counters have changed")
	}
}

func TestCountRules(t *testing.T) {
	before := []v1alpha2.RuleRestarts{{Name: "a", Restarts: 3}}
	for name, c := range map[string]struct {
		restarts []Ruling
		want     []v1alpha2.RuleRestarts
	}{
		"the default is not a rule": {[]Ruling{{Action: v1alpha2.RestartJobSet}}, before},
		"a restart of all":          {[]Ruling{{Rule: "a"}}, []v1alpha2.RuleRestarts{{Name: "a", Restarts: 4}}},
		"restarts of single Jobs": {[]Ruling{{Rule: "b"}, {Rule: "b"}},
			[]v1alpha2.RuleRestarts{{Name: "a", Restarts: 3}, {Name: "b", Restarts: 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, CountRules(before, c.restarts)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if before[0].Restarts != 3 {
		t.Error("the given counters have changed")
	}
}
