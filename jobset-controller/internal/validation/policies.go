package validation

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
)

// network checks the name of the headless Service. The default is the name of the JobSet, which jobNames checks as part
// of the Jobs' names.
func (c *checked) network() field.ErrorList {
	if c.spec.Network == nil || c.spec.Network.Subdomain == "" {
		return nil
	}
	subdomain, path := c.spec.Network.Subdomain, c.path.Child("network", "subdomain")
	return append(because(path, subdomain, validation.IsDNS1123Subdomain(subdomain)), label(path, subdomain, ".spec.network.subdomain is too long, must be less than 63 characters")...)
}

func (c *checked) successPolicy() field.ErrorList {
	if c.spec.SuccessPolicy == nil {
		return nil
	}
	return c.known(c.path.Child("successPolicy", "targetReplicatedJobs"), c.spec.SuccessPolicy.TargetReplicatedJobs, "")
}

func (c *checked) failurePolicy() field.ErrorList {
	if c.spec.FailurePolicy == nil {
		return nil
	}
	var errs field.ErrorList
	rules, path := c.spec.FailurePolicy.Rules, c.path.Child("failurePolicy", "rules")
	indexes := map[string][]int{}
	for i := range rules {
		name := policy.RuleName(rules, i)
		indexes[name] = append(indexes[name], i)
		errs = append(errs, ruleName(path.Index(i).Child("name"), name, indexes[name])...)
		errs = append(errs, c.rule(&rules[i], path.Index(i))...)
	}
	return errs
}

// ruleName checks the name of a rule, which becomes part of a condition's reason. indexes lists the rules with this
// name found so far.
func ruleName(path *field.Path, name string, indexes []int) field.ErrorList {
	switch {
	case len(indexes) > 1:
		return field.ErrorList{field.Invalid(path, name, fmt.Sprintf(
			"rule names are not unique, rules with indices %v all have the same name '%s'", indexes, name))}
	case len(name) > policy.MaxRuleName:
		return field.ErrorList{field.Invalid(path, field.OmitValueType{}, fmt.Sprintf("invalid failure policy rule name of length %d, "+
			"the rule name must be at least 1 characters long and at most %d characters long", len(name), policy.MaxRuleName))}
	case !policy.RuleNamePattern.MatchString(name):
		return field.ErrorList{field.Invalid(path, name, fmt.Sprintf("invalid failure policy rule name '%s', a failure policy rule name must start with "+
			"an alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'", name))}
	}
	return nil
}

func (c *checked) rule(rule *v1alpha2.FailurePolicyRule, path *field.Path) field.ErrorList {
	errs := slices.Concat(
		reasons(path.Child("onJobFailureReasons"), rule.OnJobFailureReasons),
		patterns(path.Child("onJobFailureMessagePatterns"), rule.OnJobFailureMessagePatterns),
		c.known(path.Child("targetReplicatedJobs"), rule.TargetReplicatedJobs, " in failure policy"),
	)
	if rule.MaxRestarts != nil && rule.Action == v1alpha2.FailJobSet {
		errs = append(errs, field.Forbidden(path.Child("maxRestarts"), "action FailJobSet restarts nothing"))
	}
	if policy.RestartsOneJob(rule.Action) {
		errs = append(errs, c.countable(path.Child("action"), rule.Action)...)
	}
	return errs
}

// countable checks that the status has room for a restart counter for each Job.
func (c *checked) countable(path *field.Path, action v1alpha2.FailurePolicyAction) field.ErrorList {
	for i := range c.spec.ReplicatedJobs {
		if c.spec.ReplicatedJobs[i].Replicas > policy.MaxSingleRestarts {
			return field.ErrorList{field.Invalid(path, action, fmt.Sprintf("JobSet cannot have a failure policy rule with RestartJob or "+
				"RestartJobAndIgnoreMaxRestarts action and a replicated job with replicas > %d", policy.MaxSingleRestarts))}
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
	for i, reason := range given {
		if !slices.Contains(jobFailureReasons, reason) {
			errs = append(errs, field.Invalid(path.Index(i), reason, fmt.Sprintf(
				"invalid job failure reason '%s' in failure policy is not a recognized job failure reason (%s)", reason, strings.Join(jobFailureReasons, ", "))))
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

// startupRules checks startupPolicy.rules: together they must name every replicatedJob except the last exactly once. The CRD
// rejects startupPolicy together with dependsOn.
func (c *checked) startupRules() field.ErrorList {
	if c.spec.StartupPolicy == nil || len(c.spec.StartupPolicy.Rules) == 0 {
		return nil
	}
	path := c.path.Child("startupPolicy", "rules")
	if !policy.InOrder(c.spec) {
		return field.ErrorList{field.Forbidden(path, "rules need startupPolicyOrder InOrder")}
	}
	errs, named := c.ruleTargets(path)
	return append(errs, c.unnamed(path, named)...)
}

// ruleTargets checks the targets of the rules, and also returns the replicatedJobs that they name.
func (c *checked) ruleTargets(path *field.Path) (field.ErrorList, map[string]bool) {
	var errs field.ErrorList
	named := map[string]bool{}
	for i := range c.spec.StartupPolicy.Rules {
		targets := path.Index(i).Child("targetReplicatedJobs")
		names := c.spec.StartupPolicy.Rules[i].TargetReplicatedJobs
		if len(names) == 0 {
			errs = append(errs, field.Required(targets, "a rule must name at least one replicatedJob"))
		}
		for j, name := range names {
			errs = append(errs, c.ruleTarget(targets.Index(j), name, named[name])...)
			named[name] = true
		}
	}
	return errs, named
}

func (c *checked) ruleTarget(path *field.Path, name string, again bool) field.ErrorList {
	switch {
	case c.replicatedJob(name) == nil:
		return field.ErrorList{unknownReplicatedJob(path, name, "")}
	case again:
		return field.ErrorList{field.Duplicate(path, name)}
	case name == c.spec.ReplicatedJobs[len(c.spec.ReplicatedJobs)-1].Name:
		return field.ErrorList{field.Invalid(path, name, "is the last replicatedJob: no later replicatedJob can wait for it")}
	}
	return nil
}

// unnamed rejects replicatedJobs that no rule names, because the user may not have intended their default gate.
func (c *checked) unnamed(path *field.Path, named map[string]bool) field.ErrorList {
	var errs field.ErrorList
	for i := range len(c.spec.ReplicatedJobs) - 1 {
		if name := c.spec.ReplicatedJobs[i].Name; !named[name] {
			errs = append(errs, field.Required(path, fmt.Sprintf("no rule names %q (spec.replicatedJobs[%d]); every replicatedJob but the last must be named once", name, i)))
		}
	}
	return errs
}
