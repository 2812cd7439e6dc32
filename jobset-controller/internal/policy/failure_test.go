package policy

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
)

const (
	timeoutKey  = v1alpha2.InPlaceTimeoutKey
	restartsKey = v1alpha2.InPlaceRestartsKey
	epochKey    = epoch.Annotation
)

// verdict is a decision without its message, and with the name of the Job instead of the Job.
type verdict struct {
	Outcome Outcome
	Reason  string
	Counts  bool
	Action  v1alpha2.FailurePolicyAction
	Job     string
	Alone   string // Jobs that are restarted individually; + marks Jobs whose restart counts
}

func decide(t *testing.T, js *JobSet, jobs ...*Job) Decision {
	t.Helper()
	current, err := epoch.Of(js.Annotations)
	if err != nil {
		t.Fatal(err)
	}
	var list []batchv1.Job
	for _, j := range jobs {
		list = append(list, *j.Obj())
	}
	f := Facts{Spec: &js.Spec, Status: &js.Status, Epoch: current, InPlace: ReadInPlace(js.Annotations),
		Jobs: SortJobs(list, &js.Status, current)}
	f.Tallies = Tally(f.Spec, f.Jobs, nil)
	return Decide(f)
}

func verdictOf(d Decision) verdict {
	v := verdict{Outcome: d.Outcome, Reason: d.Reason, Counts: d.Outcome == Restart && d.First().Counts(), Action: d.First().Action}
	if d.First().Job != nil {
		v.Job = d.First().Job.Name
	}
	if d.Outcome != RestartJobs {
		return v
	}
	for _, r := range d.Rulings {
		v.Alone += " " + r.Job.Name
		if r.Counts() {
			v.Alone += "+"
		}
	}
	return v
}

func TestFailure(t *testing.T) {
	failed := MakeJob("js-w-0", "w").Failed(5, "BackoffLimitExceeded", "too many")
	restart := verdict{Outcome: Restart, Reason: "DefaultFailurePolicy", Counts: true, Action: v1alpha2.RestartJobSet, Job: "js-w-0"}
	exhausted := verdict{Outcome: Fail, Reason: "ReachedMaxRestarts", Job: "js-w-0"}
	cases := map[string]struct {
		jobSet *JobSet
		jobs   []*Job
		want   verdict
	}{
		"without a failure policy the first failed Job fails the JobSet": {
			jobSet: MakeJobSet("js").Entry("w", 2), jobs: []*Job{failed},
			want: verdict{Outcome: Fail, Reason: "FailedJobs", Job: "js-w-0"},
		},
		"a failure policy restarts while budget is left": {
			jobSet: MakeJobSet("js").Entry("w", 2).MaxRestarts(1), jobs: []*Job{failed}, want: restart,
		},
		"the failure after the last restart fails the JobSet": {
			jobSet: MakeJobSet("js").Entry("w", 2).MaxRestarts(1).Restarts(1, 1),
			jobs:   []*Job{MakeJob("js-w-0", "w").Attempt(1).Failed(5, "", "")}, want: exhausted,
		},
		"restarts that do not count do not use up the budget": {
			jobSet: MakeJobSet("js").Entry("w", 2).MaxRestarts(1).Restarts(4, 0),
			jobs:   []*Job{MakeJob("js-w-0", "w").Attempt(4).Failed(5, "", "")}, want: restart,
		},
		"a failure policy without restarts fails the JobSet immediately": {
			jobSet: MakeJobSet("js").Entry("w", 2).MaxRestarts(0), jobs: []*Job{failed}, want: exhausted,
		},
		"a failed Job of an earlier attempt is ignored": {
			jobSet: MakeJobSet("js").Entry("w", 2).MaxRestarts(3).Restarts(1, 1), jobs: []*Job{failed},
		},
		"failure takes precedence over success": {
			jobSet: MakeJobSet("js").Entry("w", 1).Success(v1alpha2.OperatorAny).MaxRestarts(1),
			jobs:   []*Job{failed, MakeJob("js-w-1", "w").Succeeded()}, want: restart,
		},
		"the earliest failure is named": {
			jobSet: MakeJobSet("js").Entry("w", 3).MaxRestarts(1),
			jobs:   []*Job{MakeJob("js-w-2", "w").Failed(7, "", ""), MakeJob("js-w-1", "w").Failed(7, "", ""), failed}, want: restart,
		},
		"names break a tie": {
			jobSet: MakeJobSet("js").Entry("w", 3),
			jobs:   []*Job{MakeJob("js-w-2", "w").Failed(5, "", ""), failed},
			want:   verdict{Outcome: Fail, Reason: "FailedJobs", Job: "js-w-0"},
		},
		"in-place restarts use up the budget of recreations": {
			jobSet: MakeJobSet("js").Entry("w", 2).MaxRestarts(2).Annotation(timeoutKey, "60s").Annotation(restartsKey, "2"),
			jobs:   []*Job{failed}, want: exhausted,
		},
		"restarts charged by an epoch count before the orchestrator reports them": {
			jobSet: MakeJobSet("js").Entry("w", 2).MaxRestarts(2).Annotation(timeoutKey, "60s").Annotation(restartsKey, "1").
				Annotation(epochKey, `{"epoch":2,"base":2,"cause":"timeout/1/2"}`),
			jobs: []*Job{failed}, want: exhausted,
		},
		"without inplace-timeout a recreation ignores in-place restarts": {
			jobSet: MakeJobSet("js").Entry("w", 2).MaxRestarts(2).Annotation(restartsKey, "2"),
			jobs:   []*Job{failed}, want: restart,
		},
		"a restart whose epoch is open is not charged again": {
			jobSet: MakeJobSet("js").Entry("w", 2).MaxRestarts(1).Annotation(timeoutKey, "60s").Annotation(restartsKey, "1").
				Annotation(epochKey, `{"epoch":2,"base":1,"cause":"recreate/1"}`),
			jobs: []*Job{failed}, want: restart,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, verdictOf(decide(t, c.jobSet, c.jobs...))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRules(t *testing.T) {
	rule := func(name string, action v1alpha2.FailurePolicyAction, change func(*v1alpha2.FailurePolicyRule)) v1alpha2.FailurePolicyRule {
		r := v1alpha2.FailurePolicyRule{Name: name, Action: action}
		if change != nil {
			change(&r)
		}
		return r
	}
	onReason := func(r *v1alpha2.FailurePolicyRule) { r.OnJobFailureReasons = []string{"PodFailurePolicy"} }
	onMessage := func(patterns ...string) func(*v1alpha2.FailurePolicyRule) {
		return func(r *v1alpha2.FailurePolicyRule) { r.OnJobFailureMessagePatterns = patterns }
	}
	onTarget := func(r *v1alpha2.FailurePolicyRule) { r.TargetReplicatedJobs = []string{"b"} }

	a := MakeJob("js-a-0", "a").Failed(1, "BackoffLimitExceeded", "backoff limit of 3 exceeded")
	b := MakeJob("js-b-0", "b").Failed(2, "PodFailurePolicy", "exit code 42")
	byDefault := verdict{Outcome: Restart, Reason: "DefaultFailurePolicy", Counts: true, Action: v1alpha2.RestartJobSet, Job: "js-a-0"}
	failedBy := func(job string) verdict {
		return verdict{Outcome: Fail, Reason: "FailJobSetFailurePolicyAction", Job: job}
	}
	cases := map[string]struct {
		rules []v1alpha2.FailurePolicyRule
		want  verdict
	}{
		"without a match the JobSet restarts for the earliest failure": {
			rules: []v1alpha2.FailurePolicyRule{rule("r", v1alpha2.FailJobSet, onMessage("nowhere"))}, want: byDefault,
		},
		"a rule without conditions matches": {
			rules: []v1alpha2.FailurePolicyRule{rule("r", v1alpha2.FailJobSet, nil)}, want: failedBy("js-a-0"),
		},
		"a rule by reason matches its Job": {
			rules: []v1alpha2.FailurePolicyRule{rule("r", v1alpha2.FailJobSet, onReason)}, want: failedBy("js-b-0"),
		},
		"a rule by message matches its Job": {
			rules: []v1alpha2.FailurePolicyRule{rule("r", v1alpha2.FailJobSet, onMessage("nowhere", "code 4[0-9]"))}, want: failedBy("js-b-0"),
		},
		"a rule by target matches its Job": {
			rules: []v1alpha2.FailurePolicyRule{rule("r", v1alpha2.FailJobSet, onTarget)}, want: failedBy("js-b-0"),
		},
		"a pattern that does not compile matches nothing": {
			rules: []v1alpha2.FailurePolicyRule{rule("r", v1alpha2.FailJobSet, onMessage("("))}, want: byDefault,
		},
		"the first rule with a match wins, even for a later failure": {
			rules: []v1alpha2.FailurePolicyRule{rule("first", v1alpha2.RestartJobSetAndIgnoreMaxRestarts, onTarget), rule("second", v1alpha2.FailJobSet, nil)},
			want:  verdict{Outcome: Restart, Reason: "FailurePolicy_first", Action: v1alpha2.RestartJobSetAndIgnoreMaxRestarts, Job: "js-b-0"},
		},
		"a rule may restart within the budget": {
			rules: []v1alpha2.FailurePolicyRule{rule("r", v1alpha2.RestartJobSet, onReason)},
			want:  verdict{Outcome: Restart, Reason: "FailurePolicy_r", Counts: true, Action: v1alpha2.RestartJobSet, Job: "js-b-0"},
		},
		"a rule without a name gets that of its index": {
			rules: []v1alpha2.FailurePolicyRule{rule("", v1alpha2.RestartJobSet, nil)},
			want:  verdict{Outcome: Restart, Reason: "FailurePolicy_failurePolicyRule0", Counts: true, Action: v1alpha2.RestartJobSet, Job: "js-a-0"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			js := MakeJobSet("js").Entry("a", 1).Entry("b", 1).MaxRestarts(1)
			for _, r := range c.rules {
				js.Rule(r)
			}
			if diff := cmp.Diff(c.want, verdictOf(decide(t, js, b, a))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRuleDoesNotMatchAJobWithoutAReplicatedJob(t *testing.T) {
	js := MakeJobSet("js").Entry("w", 1).MaxRestarts(1).Rule(v1alpha2.FailurePolicyRule{Name: "r", Action: v1alpha2.FailJobSet})
	if d := decide(t, js, MakeJob("js-w-0", "").Failed(1, "", "")); d.Outcome != Restart || d.Reason != "DefaultFailurePolicy" {
		t.Errorf("got %+v", verdictOf(d))
	}
}

func TestRestartIgnoringMaxRestartsNeedsNoBudget(t *testing.T) {
	js := MakeJobSet("js").Entry("w", 1).MaxRestarts(0).
		Rule(v1alpha2.FailurePolicyRule{Name: "r", Action: v1alpha2.RestartJobSetAndIgnoreMaxRestarts})
	if d := decide(t, js, MakeJob("js-w-0", "w").Failed(1, "", "")); d.Outcome != Restart || d.First().Counts() {
		t.Errorf("got %+v", verdictOf(d))
	}
}

func TestInPlaceBudget(t *testing.T) {
	exceeded := verdict{Outcome: Fail, Reason: "ReachedMaxRestarts"}
	cases := map[string]struct {
		jobSet  *JobSet
		want    verdict
		message string
	}{
		"one more than maxRestarts fails the JobSet and names both numbers": {
			jobSet: MakeJobSet("js").Workers(1).MaxRestarts(20).Annotation(restartsKey, "21"), want: exceeded,
			message: "it restarted in place 21 times, which exceeds maxRestarts of 20",
		},
		"as many as maxRestarts are allowed": {
			jobSet: MakeJobSet("js").Workers(1).MaxRestarts(20).Annotation(restartsKey, "20"),
		},
		"without a failure policy none is allowed": {
			jobSet: MakeJobSet("js").Workers(1).Annotation(restartsKey, "1"), want: exceeded,
			message: "it restarted in place 1 times, which exceeds maxRestarts of 0",
		},
		"without a failure policy 0 is not a failure": {
			jobSet: MakeJobSet("js").Workers(1).Annotation(restartsKey, "0"),
		},
		"a value that is not a count is ignored": {
			jobSet: MakeJobSet("js").Workers(1).Annotation(restartsKey, "many"),
		},
		"a negative maxRestarts means none": {
			jobSet: MakeJobSet("js").Workers(1).MaxRestarts(-5).Annotation(restartsKey, "0"),
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			d := decide(t, c.jobSet)
			if diff := cmp.Diff(c.want, verdictOf(d)); diff != "" || d.Message != c.message {
				t.Errorf("message %q, want %q\n%s", d.Message, c.message, diff)
			}
		})
	}
}

const (
	formingKey = "holdfast.dev/forming-timeout"
	delayKey   = "holdfast.dev/max-restart-delay"
)

const nodeLostKey = "holdfast.dev/node-lost-after"

func TestReadInPlace(t *testing.T) {
	cases := map[string]struct {
		annotations map[string]string
		want        InPlace
		problem     string
	}{
		"without annotations there are no in-place restarts": {},
		"a timeout opts in":                       {annotations: map[string]string{timeoutKey: "1m30s"}, want: InPlace{Enabled: true, Timeout: 90e9}},
		"restarts are read":                       {annotations: map[string]string{restartsKey: "2147483647"}, want: InPlace{Restarts: 2147483647}},
		"a timeout without a unit is refused":     {annotations: map[string]string{timeoutKey: "60"}, problem: timeoutKey},
		"an empty timeout is refused":             {annotations: map[string]string{timeoutKey: ""}, problem: timeoutKey},
		"a timeout of zero is refused":            {annotations: map[string]string{timeoutKey: "0s"}, problem: timeoutKey},
		"a negative timeout is refused":           {annotations: map[string]string{timeoutKey: "-1s"}, problem: timeoutKey},
		"a negative count is refused":             {annotations: map[string]string{restartsKey: "-1"}, problem: restartsKey},
		"a count beyond int32 is refused":         {annotations: map[string]string{restartsKey: "2147483648"}, problem: restartsKey},
		"a count with a fraction is refused":      {annotations: map[string]string{restartsKey: "1.5"}, problem: restartsKey},
		"an empty count is refused":               {annotations: map[string]string{restartsKey: ""}, problem: restartsKey},
		"the forming timeout can be set":          {annotations: map[string]string{formingKey: "10m"}, want: InPlace{FormingTimeout: 600e9}},
		"but not to zero":                         {annotations: map[string]string{formingKey: "0s"}, problem: formingKey},
		"the maximum restart delay can be raised": {annotations: map[string]string{delayKey: "5m"}, want: InPlace{MaxRestartDelay: 300e9}},
		"but not to a negative value":             {annotations: map[string]string{delayKey: "-1s"}, problem: delayKey},
		"node-lost-after can be set":              {annotations: map[string]string{nodeLostKey: "2m"}, want: InPlace{NodeLostAfter: 120e9}},
		"but not below the minimum":               {annotations: map[string]string{nodeLostKey: "9s"}, problem: nodeLostKey},
		"nor to a value that is not a duration":   {annotations: map[string]string{nodeLostKey: "soon"}, problem: nodeLostKey},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if c.want.FormingTimeout == 0 {
				c.want.FormingTimeout = 30 * time.Minute
			}
			if c.want.MaxRestartDelay == 0 {
				c.want.MaxRestartDelay = 32 * time.Second
			}
			got := ReadInPlace(c.annotations)
			if diff := cmp.Diff(c.want, got, cmpopts.IgnoreFields(InPlace{}, "Problems")); diff != "" {
				t.Error(diff)
			}
			requireProblem(t, got.Problems, c.problem, c.annotations)
		})
	}
}

func requireProblem(t *testing.T, got field.ErrorList, annotation string, annotations map[string]string) {
	t.Helper()
	if annotation == "" {
		if len(got) > 0 {
			t.Errorf("unexpected problems: %+v", got)
		}
		return
	}
	if len(got) != 1 || got[0].Field != pathOf(annotation) || got[0].BadValue != annotations[annotation] {
		t.Fatalf("got %+v, want one problem with %s", got, annotation)
	}
}

func pathOf(annotation string) string { return "metadata.annotations[" + annotation + "]" }

func FuzzReadInPlace(f *testing.F) {
	for _, seed := range [][2]string{{"60s", "3"}, {"", "-1"}, {"60", "2147483648"}, {"1h1m", "007"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, timeout, restarts string) {
		p := ReadInPlace(map[string]string{timeoutKey: timeout, restartsKey: restarts})
		if p.Enabled != (p.Timeout > 0) || p.Restarts < 0 || len(p.Problems) > 2 {
			t.Errorf("%q and %q: %+v", timeout, restarts, p)
		}
		if !p.Enabled && (len(p.Problems) == 0 || p.Problems[0].Field != pathOf(timeoutKey)) {
			t.Errorf("a timeout of %q is refused without a message", timeout)
		}
	})
}
