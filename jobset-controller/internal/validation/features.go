package validation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
)

// features names what needs a gate that is off.
func (c *checked) features(on policy.Features) field.ErrorList {
	if c.spec.FailurePolicy == nil {
		return nil
	}
	var errs field.ErrorList
	path := c.path.Child("failurePolicy")
	if c.spec.FailurePolicy.RestartStrategy == v1alpha2.InPlaceRestart && !on.InPlaceRestart {
		errs = append(errs, field.Forbidden(path.Child("restartStrategy"),
			"InPlaceRestart restart strategy cannot be set when InPlaceRestart feature gate is disabled"))
	}
	for i, rule := range c.spec.FailurePolicy.Rules {
		if restartsJobs(rule.Action) && !on.RestartJob {
			errs = append(errs, field.Forbidden(path.Child("rules").Index(i).Child("action"),
				"RestartJob and RestartJobAndIgnoreMaxRestarts failure policy actions are not allowed when RestartJob feature gate is disabled"))
		}
	}
	return errs
}
