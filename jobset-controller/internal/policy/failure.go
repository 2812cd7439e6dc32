package policy

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/restart"
)

// failure applies the failure policy to all failed Jobs at once. Outcomes for the whole JobSet have priority over
// restarts of single Jobs, which are then unnecessary and are not counted.
func failure(f Facts) Decision {
	if len(f.Jobs.Failed) == 0 {
		return Decision{}
	}
	failed := byTimeOfFailure(f.Jobs.Failed)
	if f.Spec.FailurePolicy == nil {
		return fail(v1alpha2.FailedJobsReason, failed[0], "the JobSet has no failure policy")
	}
	rulings := judge(f, failed)
	for _, r := range rulings {
		if !restartsAlone(f.Spec, r) {
			return forAll(f, r)
		}
	}
	return restartJobs(f, rulings)
}

// forAll returns the effect of a ruling on the whole JobSet.
func forAll(f Facts, r Ruling) Decision {
	charged := Charged(f.Status, f.InPlace, f.Epoch)
	// After a crash between the writes of the epoch and the status, a restart has been counted but not started. It is
	// not counted again.
	begun := f.InPlace.Enabled && f.Epoch.Cause == RestartCause(f.Status.Restarts+1)
	switch {
	case r.Action == v1alpha2.FailJobSet:
		return fail(v1alpha2.FailJobSetActionReason, r.Job, fmt.Sprintf("rule %s of the failure policy fails the JobSet", r.Rule))
	case r.Counts() && !begun && !Budget(f.Spec).Allows(charged):
		return exhausted(f.Spec, charged, r.Job)
	}
	return Decision{Outcome: Restart, Reason: r.reason(), Message: "recreating all Jobs because " + describe(r.Job), Rulings: []Ruling{r}}
}

// restartsAlone reports whether a ruling concerns only one Job. If the status has no counter for the Job, which
// admission prevents, the Job cannot be restarted individually, and all Jobs are restarted.
func restartsAlone(spec *v1alpha2.JobSetSpec, r Ruling) bool {
	known := slices.ContainsFunc(spec.ReplicatedJobs, func(e v1alpha2.ReplicatedJob) bool {
		return e.Name == r.Job.Labels[v1alpha2.ReplicatedJobNameKey]
	})
	index := number(r.Job, v1alpha2.JobIndexKey)
	return RestartsOneJob(r.Action) && known && index >= 0 && index < MaxSingleRestarts
}

func restartJobs(f Facts, rulings []Ruling) Decision {
	charged := Charged(f.Status, f.InPlace, f.Epoch)
	for _, r := range rulings {
		if !r.Counts() {
			continue
		}
		if !Budget(f.Spec).Allows(charged) {
			return exhausted(f.Spec, charged, r.Job)
		}
		charged++
	}
	message := "recreating only this Job because " + describe(rulings[0].Job)
	if more := len(rulings) - 1; more > 0 {
		message = fmt.Sprintf("%s; also recreating %d more failed Jobs", message, more)
	}
	return Decision{Outcome: RestartJobs, Reason: rulings[0].reason(), Message: message, Rulings: rulings}
}

func exhausted(spec *v1alpha2.JobSetSpec, charged int32, job *batchv1.Job) Decision {
	return fail(v1alpha2.ReachedMaxRestartsReason, job,
		fmt.Sprintf("%d restarts were counted and maxRestarts is %d", charged, Budget(spec)))
}

func fail(reason string, job *batchv1.Job, why string) Decision {
	return Decision{Outcome: Fail, Reason: reason, Message: describe(job) + "; " + why, Rulings: []Ruling{{Job: job}}}
}

func describe(job *batchv1.Job) string {
	c := FailureOf(job)
	return fmt.Sprintf("job %s failed with %s: %s", job.Name, c.Reason, c.Message)
}

// byTimeOfFailure sorts Jobs by time of failure, the earliest first, and then by name, so that the order is
// deterministic.
func byTimeOfFailure(failed []*batchv1.Job) []*batchv1.Job {
	return slices.SortedFunc(slices.Values(failed), func(a, b *batchv1.Job) int {
		return cmp.Or(FailureOf(a).LastTransitionTime.Compare(FailureOf(b).LastTransitionTime.Time), cmp.Compare(a.Name, b.Name))
	})
}

// Ruling is what the failure policy requires for a failed Job.
type Ruling struct {
	Job *batchv1.Job
	// Rule is the name of the rule that matched; empty for the default action.
	Rule   string
	Action v1alpha2.FailurePolicyAction
}

// Counts reports whether the restart counts towards maxRestarts.
func (r Ruling) Counts() bool {
	return r.Action != v1alpha2.RestartJobSetAndIgnoreMaxRestarts && r.Action != v1alpha2.RestartJobAndIgnoreMaxRestarts
}

// reason returns the condition's reason for the ruling. It omits a rule name that a reason cannot contain. Admission
// rejects such names, but they can occur in JobSets that were not validated.
func (r Ruling) reason() string {
	if len(r.Rule) > MaxRuleName || !RuleNamePattern.MatchString(r.Rule) {
		return v1alpha2.DefaultFailurePolicyReason
	}
	return v1alpha2.FailurePolicyReasonPrefix + r.Rule
}

// RuleNamePattern is the API server's pattern for a condition's reason, which includes the name of a rule.
var RuleNamePattern = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)

// MaxRuleName is the maximum length of a rule's name.
const MaxRuleName = 128

// RestartsOneJob reports whether an action concerns only the failed Job.
func RestartsOneJob(action v1alpha2.FailurePolicyAction) bool {
	return action == v1alpha2.RestartJob || action == v1alpha2.RestartJobAndIgnoreMaxRestarts
}

// judge returns a ruling for each failed Job, based on the first rule that matches it. If no rule matches, the ruling
// is a restart of all Jobs. The Jobs must be sorted by time of failure. The rulings are sorted by rule, and then by
// time. A rule with maxRestarts no longer matches once it has caused that many restarts.
func judge(f Facts, failed []*batchv1.Job) []Ruling {
	var rulings []Ruling
	rules := f.Spec.FailurePolicy.Rules
	left := slices.Clone(failed)
	for i := range rules {
		name, action := RuleName(rules, i), rules[i].Action
		budget := ruleBudget(f.Status, &rules[i], name)
		left = slices.DeleteFunc(left, func(job *batchv1.Job) bool {
			if budget == 0 || !matches(&rules[i], job) {
				return false
			}
			if RestartsOneJob(action) {
				budget--
			}
			rulings = append(rulings, Ruling{job, name, action})
			return true
		})
	}
	for _, job := range left {
		rulings = append(rulings, Ruling{Job: job, Action: v1alpha2.RestartJobSet})
	}
	return rulings
}

// ruleBudget returns how many restarts a rule may still cause.
func ruleBudget(status *v1alpha2.JobSetStatus, rule *v1alpha2.FailurePolicyRule, name string) int32 {
	if rule.MaxRestarts == nil {
		return math.MaxInt32
	}
	return restart.Budget(*rule.MaxRestarts).Left(RuleRestarts(status, name))
}

func RuleRestarts(status *v1alpha2.JobSetStatus, name string) int32 {
	for _, r := range status.RuleRestarts {
		if r.Name == name {
			return r.Restarts
		}
	}
	return 0
}

// CountRules adds a decision's restarts to the restart counts by rule. It does not count the default action, which is
// not a rule.
func CountRules(counts []v1alpha2.RuleRestarts, restarts []Ruling) []v1alpha2.RuleRestarts {
	counted := slices.Clone(counts)
	for _, restart := range restarts {
		if restart.Rule == "" {
			continue
		}
		at := slices.IndexFunc(counted, func(r v1alpha2.RuleRestarts) bool { return r.Name == restart.Rule })
		if at < 0 {
			at, counted = len(counted), append(counted, v1alpha2.RuleRestarts{Name: restart.Rule})
		}
		counted[at].Restarts++
	}
	return counted
}

// RuleName returns a rule's name or, if it has none, the name that the upstream webhook would set.
func RuleName(rules []v1alpha2.FailurePolicyRule, i int) string {
	return cmp.Or(rules[i].Name, fmt.Sprintf("failurePolicyRule%d", i))
}

func matches(rule *v1alpha2.FailurePolicyRule, job *batchv1.Job) bool {
	c, rjob := FailureOf(job), job.Labels[v1alpha2.ReplicatedJobNameKey]
	return rjob != "" && includes(rule.TargetReplicatedJobs, rjob) && includes(rule.OnJobFailureReasons, c.Reason) &&
		hasMessage(rule.OnJobFailureMessagePatterns, c.Message)
}

// includes reports whether a list contains a value. An empty list includes all values.
func includes(list []string, value string) bool {
	return len(list) == 0 || slices.Contains(list, value)
}

// hasMessage reports whether one of the patterns matches. A pattern that does not compile matches nothing.
func hasMessage(patterns []string, message string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(pattern string) bool {
		found, err := regexp.MatchString(pattern, message)
		return err == nil && found
	})
}
