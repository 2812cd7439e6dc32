package validation

import (
	"fmt"

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
		errs = append(errs, disabled(path.Child("restartStrategy"), string(v1alpha2.InPlaceRestart), "InPlaceRestart"))
	}
	for i, rule := range c.spec.FailurePolicy.Rules {
		if restartsJobs(rule.Action) && !on.RestartJob {
			errs = append(errs, disabled(path.Child("rules").Index(i).Child("action"), string(rule.Action), "RestartJob"))
		}
	}
	return errs
}

func disabled(path *field.Path, value, gate string) *field.Error {
	return field.Forbidden(path, fmt.Sprintf("%s needs the feature gate %s of the JobSet controller, which is off", value, gate))
}
