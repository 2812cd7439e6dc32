package webhook

import (
	"encoding/json"
	"fmt"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// carried is what of a spec the published types do not have. It is written beside the spec, because MultiKueue makes its copies with
// those types: all annotations are in them.
type carried struct {
	StartupRules []v1alpha2.StartupPolicyRule `json:"startupRules,omitempty"`
	// RuleMaxRestarts by the name of the rule of the failure policy.
	RuleMaxRestarts map[string]int32 `json:"ruleMaxRestarts,omitempty"`
}

// carry gives a copy of MultiKueue back what it lacks, and notes what another copy would lack.
func carry(js *v1alpha2.JobSet) error {
	if text, found := js.Annotations[v1alpha2.CarriedSpecKey]; found && js.Labels[v1alpha2.MultiKueueOriginLabel] != "" {
		var c carried
		if err := json.Unmarshal([]byte(text), &c); err != nil {
			return fmt.Errorf("annotation %s, which a webhook writes, cannot be read: %w", v1alpha2.CarriedSpecKey, err)
		}
		c.giveBack(&js.Spec)
	}
	return note(js)
}

// giveBack fills in what is absent from the spec. It is in parts of it that no update may change: nobody can have meant to take it away.
func (c carried) giveBack(spec *v1alpha2.JobSetSpec) {
	if startup := spec.StartupPolicy; startup != nil && startup.StartupPolicyOrder == v1alpha2.InOrder && len(startup.Rules) == 0 {
		startup.Rules = c.StartupRules
	}
	if spec.FailurePolicy == nil {
		return
	}
	rules := spec.FailurePolicy.Rules
	for i := range rules {
		if most, is := c.RuleMaxRestarts[rules[i].Name]; is && rules[i].MaxRestarts == nil {
			rules[i].MaxRestarts = &most
		}
	}
}

// note writes the annotation, or takes away one that has nothing to say.
func note(js *v1alpha2.JobSet) error {
	c := carriedBy(&js.Spec)
	if len(c.StartupRules)+len(c.RuleMaxRestarts) == 0 {
		delete(js.Annotations, v1alpha2.CarriedSpecKey)
		return nil
	}
	text, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("writing annotation %s: %w", v1alpha2.CarriedSpecKey, err)
	}
	if js.Annotations == nil {
		js.Annotations = map[string]string{}
	}
	js.Annotations[v1alpha2.CarriedSpecKey] = string(text)
	return nil
}

func carriedBy(spec *v1alpha2.JobSetSpec) carried {
	var c carried
	if spec.StartupPolicy != nil {
		c.StartupRules = spec.StartupPolicy.Rules
	}
	if spec.FailurePolicy == nil {
		return c
	}
	for _, rule := range spec.FailurePolicy.Rules {
		if rule.MaxRestarts != nil {
			if c.RuleMaxRestarts == nil {
				c.RuleMaxRestarts = map[string]int32{}
			}
			c.RuleMaxRestarts[rule.Name] = *rule.MaxRestarts
		}
	}
	return c
}
