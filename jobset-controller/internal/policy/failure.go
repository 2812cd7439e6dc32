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
			return forAll(f, r.rule, r.job)
		}
	}
	return restartJobs(f, rulings)
}

// forAll returns the effect of a rule on the whole JobSet.
func forAll(f Facts, rule chosenRule, job *batchv1.Job) Decision {
	switch rule.action {
	case v1alpha2.FailJobSet:
		return fail(v1alpha2.FailJobSetActionReason, job, fmt.Sprintf("rule %s of the failure policy fails the JobSet", rule.name))
	case v1alpha2.RestartJobSetAndIgnoreMaxRestarts, v1alpha2.RestartJobAndIgnoreMaxRestarts:
		return restartFor(rule, job)
	default:
		return restartWithinBudget(f, rule, job)
	}
}

// restartsAlone reports whether a ruling concerns only one Job. If the status has no counter for the Job, which
// admission prevents, the Job cannot be restarted individually, and all Jobs are restarted.
func restartsAlone(spec *v1alpha2.JobSetSpec, r ruling) bool {
	known := slices.ContainsFunc(spec.ReplicatedJobs, func(e v1alpha2.ReplicatedJob) bool {
		return e.Name == r.job.Labels[v1alpha2.ReplicatedJobNameKey]
	})
	index := number(r.job, v1alpha2.JobIndexKey)
	return RestartsOneJob(r.rule.action) && known && index >= 0 && index < MaxSingleRestarts
}

func restartJobs(f Facts, rulings []ruling) Decision {
	charged := Charged(f.Status, f.InPlace, f.Epoch)
	d := Decision{Outcome: RestartJobs, Reason: rulings[0].rule.reason(), Action: rulings[0].rule.action, Job: rulings[0].job}
	for _, r := range rulings {
		counts := r.rule.action == v1alpha2.RestartJob
		if counts && !Budget(f.Spec).Allows(charged) {
			return exhausted(f.Spec, charged, r.job)
		}
		if counts {
			charged++
		}
		d.Restarts = append(d.Restarts, JobRestart{Job: r.job, Action: r.rule.action, Counts: counts, Rule: r.rule.name})
	}
	d.Message = "recreating only this Job because " + describe(d.Job)
	if more := len(rulings) - 1; more > 0 {
		d.Message = fmt.Sprintf("%s; also recreating %d more failed Jobs", d.Message, more)
	}
	return d
}

func restartWithinBudget(f Facts, rule chosenRule, job *batchv1.Job) Decision {
	charged := Charged(f.Status, f.InPlace, f.Epoch)
	// A crash between writing the epoch and the status leaves a restart that was counted but not started. It is not
	// counted again.
	begun := f.InPlace.Enabled && f.Epoch.Cause == RestartCause(f.Status.Restarts+1)
	if !begun && !Budget(f.Spec).Allows(charged) {
		return exhausted(f.Spec, charged, job)
	}
	d := restartFor(rule, job)
	d.Counts = true
	return d
}

func exhausted(spec *v1alpha2.JobSetSpec, charged int32, job *batchv1.Job) Decision {
	return fail(v1alpha2.ReachedMaxRestartsReason, job,
		fmt.Sprintf("%d restarts were counted and maxRestarts is %d", charged, Budget(spec)))
}

func restartFor(rule chosenRule, job *batchv1.Job) Decision {
	return Decision{
		Outcome: Restart,
		Reason:  rule.reason(),
		Message: fmt.Sprintf("recreating all Jobs because %s", describe(job)),
		Action:  rule.action,
		Rule:    rule.name,
		Job:     job,
	}
}

func fail(reason string, job *batchv1.Job, why string) Decision {
	return Decision{Outcome: Fail, Reason: reason, Message: describe(job) + "; " + why, Job: job}
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

// chosenRule identifies a rule by name and action. Without a name it is the default action.
type chosenRule struct {
	name   string
	action v1alpha2.FailurePolicyAction
}

func (r chosenRule) reason() string {
	if r.name == "" {
		return v1alpha2.DefaultFailurePolicyReason
	}
	return v1alpha2.FailurePolicyReasonPrefix + safeName(r.name)
}

// RuleNamePattern is the API server's pattern for a condition's reason, which includes the name of a rule.
var RuleNamePattern = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)

// maxReasonName leaves room for the prefix in the 1024 bytes of a reason.
const maxReasonName = 1000

// safeName converts the name of a rule to a form that is valid in a condition's reason. Admission rejects names that
// would be changed by this; they occur in JobSets that were not validated.
func safeName(name string) string {
	if len(name) <= maxReasonName && RuleNamePattern.MatchString(name) {
		return name
	}
	return unsafeCharacter.ReplaceAllString(name[:min(len(name), maxReasonName)], "_")
}

var unsafeCharacter = regexp.MustCompile(`[^A-Za-z0-9]`)

// RestartsOneJob reports whether an action concerns only the failed Job.
func RestartsOneJob(action v1alpha2.FailurePolicyAction) bool {
	return action == v1alpha2.RestartJob || action == v1alpha2.RestartJobAndIgnoreMaxRestarts
}

// ruling is the rule that applies to a failed Job.
type ruling struct {
	rule chosenRule
	job  *batchv1.Job
}

// judge returns, for each failed Job, the first rule that matches it; without a match it is a restart of all Jobs. The
// Jobs must be sorted by time of failure. The rulings are sorted by rule, and then by time. A rule with maxRestarts no
// longer matches once it has caused that many restarts.
func judge(f Facts, failed []*batchv1.Job) []ruling {
	var rulings []ruling
	rules := f.Spec.FailurePolicy.Rules
	left := slices.Clone(failed)
	for i := range rules {
		chosen := chosenRule{name: RuleName(rules, i), action: rules[i].Action}
		budget := ruleBudget(f.Status, &rules[i], chosen.name)
		left = slices.DeleteFunc(left, func(job *batchv1.Job) bool {
			if budget == 0 || !matches(&rules[i], job) {
				return false
			}
			if RestartsOneJob(chosen.action) {
				budget--
			}
			rulings = append(rulings, ruling{chosen, job})
			return true
		})
	}
	for _, job := range left {
		rulings = append(rulings, ruling{chosenRule{action: v1alpha2.RestartJobSet}, job})
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

// CountRules returns the restarts by rule, including those of a decision. The default action, which is not a rule, is
// not counted.
func CountRules(counts []v1alpha2.RuleRestarts, d Decision) []v1alpha2.RuleRestarts {
	counted := slices.Clone(counts)
	names := []string{d.Rule}
	for _, r := range d.Restarts {
		names = append(names, r.Rule)
	}
	for _, name := range names {
		if name == "" {
			continue
		}
		at := slices.IndexFunc(counted, func(r v1alpha2.RuleRestarts) bool { return r.Name == name })
		if at < 0 {
			at, counted = len(counted), append(counted, v1alpha2.RuleRestarts{Name: name})
		}
		counted[at].Restarts++
	}
	return counted
}

// RuleName returns the name of a rule. For a rule without a name, it is the name that the upstream webhook would set.
func RuleName(rules []v1alpha2.FailurePolicyRule, i int) string {
	return cmp.Or(rules[i].Name, fmt.Sprintf("failurePolicyRule%d", i))
}

func matches(rule *v1alpha2.FailurePolicyRule, job *batchv1.Job) bool {
	c, rjob := FailureOf(job), job.Labels[v1alpha2.ReplicatedJobNameKey]
	return rjob != "" && includes(rule.TargetReplicatedJobs, rjob) && includes(rule.OnJobFailureReasons, c.Reason) &&
		hasMessage(rule.OnJobFailureMessagePatterns, c.Message)
}

// includes reports whether a list contains a value. An empty list stands for all values.
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
