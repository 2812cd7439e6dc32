package validation

import (
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
)

// network checks the name of the headless Service. Without one it is the JobSet's, which the names of Jobs contain.
func (c *checked) network() field.ErrorList {
	if c.spec.Network == nil || c.spec.Network.Subdomain == "" {
		return nil
	}
	subdomain := c.spec.Network.Subdomain
	return because(c.path.Child("network", "subdomain"), subdomain, validation.IsDNS1035Label(subdomain))
}

func (c *checked) successPolicy() field.ErrorList {
	if c.spec.SuccessPolicy == nil {
		return nil
	}
	return c.known(c.path.Child("successPolicy", "targetReplicatedJobs"), c.spec.SuccessPolicy.TargetReplicatedJobs)
}

func (c *checked) failurePolicy() field.ErrorList {
	if c.spec.FailurePolicy == nil {
		return nil
	}
	var errs field.ErrorList
	rules, path := c.spec.FailurePolicy.Rules, c.path.Child("failurePolicy", "rules")
	names := sets.New[string]()
	for i := range rules {
		name := policy.RuleName(rules, i)
		errs = append(errs, ruleName(path.Index(i).Child("name"), name, names.Has(name))...)
		errs = append(errs, c.rule(&rules[i], path.Index(i))...)
		names.Insert(name)
	}
	return errs
}

const (
	maxRuleName     = 128
	ruleNameExample = "node_lost"
)

var ruleNamePattern = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)

// ruleName becomes part of a condition's reason, hence its form.
func ruleName(path *field.Path, name string, again bool) field.ErrorList {
	switch {
	case again:
		return field.ErrorList{field.Duplicate(path, name)}
	case len(name) > maxRuleName:
		return field.ErrorList{field.TooLong(path, name, maxRuleName)}
	case !ruleNamePattern.MatchString(name):
		return field.ErrorList{field.Invalid(path, name, fmt.Sprintf(
			"must begin with a letter, go on with letters, digits, '_', ',' and ':', and end with a letter, a digit or '_', such as %q", ruleNameExample))}
	}
	return nil
}

func (c *checked) rule(rule *v1alpha2.FailurePolicyRule, path *field.Path) field.ErrorList {
	errs := concat(
		reasons(path.Child("onJobFailureReasons"), rule.OnJobFailureReasons),
		patterns(path.Child("onJobFailureMessagePatterns"), rule.OnJobFailureMessagePatterns),
		c.known(path.Child("targetReplicatedJobs"), rule.TargetReplicatedJobs),
	)
	if rule.MaxRestarts != nil && rule.Action == v1alpha2.FailJobSet {
		errs = append(errs, field.Forbidden(path.Child("maxRestarts"), "action FailJobSet restarts nothing"))
	}
	if restartsJobs(rule.Action) {
		errs = append(errs, c.countable(path.Child("action"), rule.Action)...)
	}
	return errs
}

func restartsJobs(action v1alpha2.FailurePolicyAction) bool {
	return action == v1alpha2.RestartJob || action == v1alpha2.RestartJobAndIgnoreMaxRestarts
}

// countable: the status has room for so many counters.
func (c *checked) countable(path *field.Path, action v1alpha2.FailurePolicyAction) field.ErrorList {
	for i := range c.spec.ReplicatedJobs {
		if n := c.spec.ReplicatedJobs[i].Replicas; n > policy.MaxSingleRestarts {
			return field.ErrorList{field.Invalid(path, action, fmt.Sprintf(
				"is possible up to %d replicas of an entry; spec.replicatedJobs[%d].replicas is %d", policy.MaxSingleRestarts, i, n))}
		}
	}
	return nil
}

var jobFailureReasons = []string{
	batchv1.JobReasonBackoffLimitExceeded,
	batchv1.JobReasonDeadlineExceeded,
	batchv1.JobReasonFailedIndexes,
	batchv1.JobReasonMaxFailedIndexesExceeded,
	batchv1.JobReasonPodFailurePolicy,
}

func reasons(path *field.Path, given []string) field.ErrorList {
	var errs field.ErrorList
	known := sets.New(jobFailureReasons...)
	for i, reason := range given {
		if !known.Has(reason) {
			errs = append(errs, field.NotSupported(path.Index(i), reason, jobFailureReasons))
		}
	}
	return errs
}

func patterns(path *field.Path, given []string) field.ErrorList {
	var errs field.ErrorList
	for i, pattern := range given {
		if _, err := regexp.Compile(pattern); err != nil {
			errs = append(errs, field.Invalid(path.Index(i), pattern, "is not a regular expression (RE2): "+err.Error()))
		}
	}
	return errs
}
