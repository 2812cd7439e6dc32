package jobset

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
)

// withConditions sets the conditions of the JobSet.
func withConditions(js *JobSet, conditions ...metav1.Condition) *JobSet {
	for _, c := range conditions {
		c.LastTransitionTime = metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
		js.Status.Conditions = append(js.Status.Conditions, c)
	}
	return js
}

func isTrue(kind v1alpha2.JobSetConditionType, reason string) metav1.Condition {
	return metav1.Condition{Type: string(kind), Status: metav1.ConditionTrue, Reason: reason}
}

func isFalse(kind v1alpha2.JobSetConditionType, reason string) metav1.Condition {
	return metav1.Condition{Type: string(kind), Status: metav1.ConditionFalse, Reason: reason}
}

// conditions returns the conditions as a map from type to "Status/Reason", except Running, which summarizes them (see TestRunning).
func conditions(list []metav1.Condition) map[string]string {
	out := map[string]string{}
	for _, c := range list {
		if c.Type != string(v1alpha2.JobSetRunning) {
			out[c.Type] = string(c.Status) + "/" + c.Reason
		}
	}
	return out
}

func TestStatus(t *testing.T) {
	ready := []v1alpha2.ReplicatedJobStatus{{Name: "w", Ready: 1}}
	starting := []v1alpha2.ReplicatedJobStatus{{Name: "w"}}
	restarting := isTrue(v1alpha2.JobSetRestarting, "DefaultFailurePolicy")
	fail := policy.Decision{Outcome: policy.Fail, Reason: "ReachedMaxRestarts"}
	restart := policy.Decision{Outcome: policy.Restart, Reason: "DefaultFailurePolicy", Rulings: []policy.Ruling{{Action: v1alpha2.RestartJobSet}}}
	running := func(conditions ...metav1.Condition) *JobSet {
		return withConditions(MakeJobSet("a").Entry("w", 1), conditions...)
	}
	inOrder := func(conditions ...metav1.Condition) *JobSet { return running(conditions...).InOrder() }
	cases := map[string]struct {
		scope  scope
		want   map[string]string
		events []string
	}{
		"a JobSet that starts has no conditions": {
			scope: scope{jobSet: running().Obj(), Facts: policy.Facts{Tallies: starting}}, want: map[string]string{},
		},
		"a JobSet that never restarted does not report that it is ready again": {
			scope: scope{jobSet: running().Obj(), Facts: policy.Facts{Tallies: ready}}, want: map[string]string{},
		},
		"a restart is announced with its action": {
			scope:  scope{jobSet: running().Obj(), Facts: policy.Facts{Tallies: starting}, decision: restart, decided: true},
			want:   map[string]string{"RestartingJobSet": "True/DefaultFailurePolicy"},
			events: []string{"Warning RestartJobSetFailurePolicyAction"},
		},
		"a restart ends when all Jobs are ready": {
			scope:  scope{jobSet: running(restarting).Obj(), Facts: policy.Facts{Tallies: ready}},
			want:   map[string]string{"RestartingJobSet": "False/JobsReady"},
			events: []string{"Normal JobsReady"},
		},
		"a restart continues while a Job is not ready": {
			scope: scope{jobSet: running(restarting).Obj(), Facts: policy.Facts{Tallies: starting}},
			want:  map[string]string{"RestartingJobSet": "True/DefaultFailurePolicy"},
		},
		"a JobSet that fails no longer restarts": {
			scope:  scope{jobSet: running(restarting).Obj(), Facts: policy.Facts{Tallies: starting}, decision: fail, decided: true},
			want:   map[string]string{"Failed": "True/ReachedMaxRestarts", "RestartingJobSet": "False/JobSetFailed"},
			events: []string{"Warning ReachedMaxRestarts", "Normal JobSetFailed"},
		},
		"a JobSet that completes no longer restarts": {
			scope: scope{jobSet: running(restarting).Obj(), Facts: policy.Facts{Tallies: starting}, decided: true,
				decision: policy.Decision{Outcome: policy.Complete, Reason: "AllJobsCompleted"}},
			want:   map[string]string{"Completed": "True/AllJobsCompleted", "RestartingJobSet": "False/JobSetCompleted"},
			events: []string{"Normal AllJobsCompleted", "Normal JobSetCompleted"},
		},
		"a decision that is not confirmed is not recorded": {
			scope: scope{jobSet: running(restarting).Obj(), Facts: policy.Facts{Tallies: ready}, decision: fail},
			want:  map[string]string{"RestartingJobSet": "True/DefaultFailurePolicy"},
		},
		"a suspended JobSet reports the suspension and no longer restarts": {
			scope:  scope{jobSet: running(restarting).Suspend(true).Obj(), Facts: policy.Facts{Tallies: starting}, settled: true},
			want:   map[string]string{"Suspended": "True/SuspendedJobs", "RestartingJobSet": "False/JobSetSuspended"},
			events: []string{"Normal SuspendedJobs", "Normal JobSetSuspended"},
		},
		"a JobSet is not suspended before its Jobs are": {
			scope: scope{jobSet: running().Suspend(true).Obj(), Facts: policy.Facts{Tallies: starting}}, want: map[string]string{},
		},
		"a JobSet is not resumed before its Jobs are": {
			scope: scope{jobSet: running(isTrue(v1alpha2.JobSetSuspended, "SuspendedJobs")).Obj(), Facts: policy.Facts{Tallies: starting}},
			want:  map[string]string{"Suspended": "True/SuspendedJobs"},
		},
		"a resumed JobSet reports that it is resumed": {
			scope:  scope{jobSet: running(isTrue(v1alpha2.JobSetSuspended, "SuspendedJobs")).Obj(), Facts: policy.Facts{Tallies: starting}, settled: true},
			want:   map[string]string{"Suspended": "False/ResumeJobs"},
			events: []string{"Normal ResumeJobs"},
		},
		"a finished JobSet keeps its conditions": {
			scope: scope{jobSet: running(isTrue(v1alpha2.JobSetFailed, "FailedJobs")).Suspend(true).Obj(), Facts: policy.Facts{Tallies: ready}, settled: true},
			want:  map[string]string{"Failed": "True/FailedJobs"},
		},
		"an ordered start is in progress": {
			scope:  scope{jobSet: inOrder().Obj(), Facts: policy.Facts{Tallies: starting}},
			want:   map[string]string{"StartupPolicyInProgress": "True/InOrderStartupPolicyInProgress"},
			events: []string{"Normal InOrderStartupPolicyInProgress"},
		},
		"an ordered start completes": {
			scope: scope{jobSet: inOrder(isTrue(v1alpha2.JobSetStartupPolicyInProgress, "InOrderStartupPolicyInProgress")).Obj(), Facts: policy.Facts{Tallies: ready}},
			want: map[string]string{"StartupPolicyInProgress": "False/InOrderStartupPolicyInProgress",
				"StartupPolicyCompleted": "True/InOrderStartupPolicyCompleted"},
			events: []string{"Normal InOrderStartupPolicyCompleted"},
		},
		"an ordered start completes with a last stage that finishes before it was observed as ready": {
			scope: scope{jobSet: inOrder(isTrue(v1alpha2.JobSetStartupPolicyInProgress, "InOrderStartupPolicyInProgress")).Obj(),
				Facts: policy.Facts{Tallies: []v1alpha2.ReplicatedJobStatus{{Name: "w", Succeeded: 1}}}, decided: true,
				decision: policy.Decision{Outcome: policy.Complete, Reason: "AllJobsCompleted"}},
			want: map[string]string{"Completed": "True/AllJobsCompleted", "StartupPolicyInProgress": "False/InOrderStartupPolicyInProgress",
				"StartupPolicyCompleted": "True/InOrderStartupPolicyCompleted"},
			events: []string{"Normal AllJobsCompleted", "Normal InOrderStartupPolicyCompleted"},
		},
		"an ordered start completes with a last stage that fails before it was observed as ready": {
			scope: scope{jobSet: inOrder(isTrue(v1alpha2.JobSetStartupPolicyInProgress, "InOrderStartupPolicyInProgress")).Obj(),
				Facts: policy.Facts{Tallies: []v1alpha2.ReplicatedJobStatus{{Name: "w", Failed: 1}}}, decision: fail, decided: true},
			want: map[string]string{"Failed": "True/ReachedMaxRestarts", "StartupPolicyInProgress": "False/InOrderStartupPolicyInProgress",
				"StartupPolicyCompleted": "True/InOrderStartupPolicyCompleted"},
			events: []string{"Warning ReachedMaxRestarts", "Normal InOrderStartupPolicyCompleted"},
		},
		"an ordered start ends with a JobSet that fails in the middle of it": {
			scope: scope{jobSet: inOrder(isTrue(v1alpha2.JobSetStartupPolicyInProgress, "InOrderStartupPolicyInProgress")).Obj(),
				Facts: policy.Facts{Tallies: starting}, decision: fail, decided: true},
			want:   map[string]string{"Failed": "True/ReachedMaxRestarts", "StartupPolicyInProgress": "False/JobSetFailed"},
			events: []string{"Warning ReachedMaxRestarts", "Normal JobSetFailed"},
		},
		"a completed start is not undone by a temporarily unready pod": {
			scope: scope{jobSet: inOrder(isTrue(v1alpha2.JobSetStartupPolicyCompleted, "InOrderStartupPolicyCompleted")).Obj(), Facts: policy.Facts{Tallies: starting}},
			want:  map[string]string{"StartupPolicyCompleted": "True/InOrderStartupPolicyCompleted"},
		},
		"a resumed JobSet starts in order again": {
			scope: scope{jobSet: inOrder(isTrue(v1alpha2.JobSetSuspended, "SuspendedJobs"),
				isTrue(v1alpha2.JobSetStartupPolicyCompleted, "InOrderStartupPolicyCompleted")).Obj(), Facts: policy.Facts{Tallies: starting}, settled: true},
			want: map[string]string{"Suspended": "False/ResumeJobs", "StartupPolicyCompleted": "False/InOrderStartupPolicyCompleted",
				"StartupPolicyInProgress": "True/InOrderStartupPolicyInProgress"},
			events: []string{"Normal ResumeJobs", "Normal InOrderStartupPolicyInProgress"},
		},
		"a restarted JobSet starts in order again": {
			scope: scope{jobSet: inOrder(isTrue(v1alpha2.JobSetStartupPolicyCompleted, "InOrderStartupPolicyCompleted")).Obj(), Facts: policy.Facts{Tallies: starting},
				decision: restart, decided: true},
			want:   map[string]string{"RestartingJobSet": "True/DefaultFailurePolicy", "StartupPolicyCompleted": "False/InOrderStartupPolicyCompleted"},
			events: []string{"Warning RestartJobSetFailurePolicyAction"},
		},
		"a condition that is False keeps its reason": {
			scope:  scope{jobSet: running(isFalse(v1alpha2.JobSetRestarting, "JobsReady")).Suspend(true).Obj(), Facts: policy.Facts{Tallies: starting}, settled: true},
			want:   map[string]string{"Suspended": "True/SuspendedJobs", "RestartingJobSet": "False/JobsReady"},
			events: []string{"Normal SuspendedJobs"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.scope.gates = policy.Gates(&c.scope.jobSet.Spec, c.scope.Tallies)
			status := c.scope.status()
			if diff := cmp.Diff(c.want, conditions(status.Conditions)); diff != "" {
				t.Error(diff)
			}
			var events []string
			for _, n := range c.scope.pending {
				events = append(events, n.kind+" "+n.reason)
			}
			if diff := cmp.Diff(c.events, events); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestConditionHasItsObservedGeneration(t *testing.T) {
	js := MakeJobSet("a").Entry("w", 1).Suspend(true).Change(func(js *v1alpha2.JobSet) { js.Generation = 7 })
	s := scope{jobSet: js.Obj(), settled: true}
	if c := meta.FindStatusCondition(s.status().Conditions, "Suspended"); c.ObservedGeneration != 7 {
		t.Errorf("got %d", c.ObservedGeneration)
	}
}
