package webhook

import (
	"encoding/json"
	"fmt"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

// carried are the parts of a spec that the published types lack. They are written to an annotation, because MultiKueue creates its
// copies with those types, which keep all annotations.
type carried struct {
	StartupRules []v1alpha2.StartupPolicyRule `json:"startupRules,omitempty"`
	// RuleMaxRestarts has maxRestarts by the name of the failure policy rule.
	RuleMaxRestarts map[string]int32 `json:"ruleMaxRestarts,omitempty"`
}

// carry restores what a copy of MultiKueue lacks, and records what a further copy would lack.
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

// giveBack sets what is absent from the spec. It is in parts of the spec that no update may change, so it cannot have been removed
// on purpose.
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

// note writes the annotation, or removes an empty one.
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
