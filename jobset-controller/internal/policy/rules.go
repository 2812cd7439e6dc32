package policy

import (
	"fmt"
	"regexp"
	"slices"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// chosenRule is a rule by name and action; without a name it is the default.
type chosenRule struct {
	name   string
	action v1alpha2.FailurePolicyAction
}

func (r chosenRule) reason() string {
	if r.name == "" {
		return v1alpha2.DefaultFailurePolicyReason
	}
	return v1alpha2.FailurePolicyReasonPrefix + r.name
}

// firstMatch expects the failed Jobs sorted by time of failure.
func firstMatch(rules []v1alpha2.FailurePolicyRule, failed []*batchv1.Job) (chosenRule, *batchv1.Job) {
	for i := range rules {
		m := newMatcher(&rules[i])
		if at := slices.IndexFunc(failed, m.matches); at >= 0 {
			return chosenRule{name: ruleName(rules, i), action: rules[i].Action}, failed[at]
		}
	}
	return chosenRule{action: v1alpha2.RestartJobSet}, failed[0]
}

// ruleName is what the published webhook would have named a rule without a name.
func ruleName(rules []v1alpha2.FailurePolicyRule, i int) string {
	if rules[i].Name == "" {
		return fmt.Sprintf("failurePolicyRule%d", i)
	}
	return rules[i].Name
}

// matcher is a rule with its patterns compiled once for all Jobs.
type matcher struct {
	rule     *v1alpha2.FailurePolicyRule
	patterns []*regexp.Regexp
}

// newMatcher leaves out patterns that do not compile: they match nothing.
func newMatcher(rule *v1alpha2.FailurePolicyRule) matcher {
	m := matcher{rule: rule}
	for _, text := range rule.OnJobFailureMessagePatterns {
		if pattern, err := regexp.Compile(text); err == nil {
			m.patterns = append(m.patterns, pattern)
		}
	}
	return m
}

func (m matcher) matches(job *batchv1.Job) bool {
	c := FailedCondition(job)
	return m.targets(job.Labels[v1alpha2.ReplicatedJobNameKey]) && m.hasReason(c.Reason) && m.hasMessage(c.Message)
}

func (m matcher) targets(entry string) bool {
	targets := m.rule.TargetReplicatedJobs
	return entry != "" && (len(targets) == 0 || slices.Contains(targets, entry))
}

func (m matcher) hasReason(reason string) bool {
	reasons := m.rule.OnJobFailureReasons
	return len(reasons) == 0 || slices.Contains(reasons, reason)
}

func (m matcher) hasMessage(message string) bool {
	if len(m.rule.OnJobFailureMessagePatterns) == 0 {
		return true
	}
	return slices.ContainsFunc(m.patterns, func(p *regexp.Regexp) bool { return p.MatchString(message) })
}
