package bootstrap

import (
	"fmt"
	"maps"
	"strings"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/component-base/featuregate"
)

// Gate is a feature gate: its default, its stage, and whether it is locked to the default.
type Gate = featuregate.FeatureSpec

// Stages of feature gates.
const (
	Alpha = featuregate.Alpha
	Beta  = featuregate.Beta
)

// Enabled reports whether the feature gate is on. It panics if the program has no such gate.
func (o *Options) Enabled(gate string) bool { return o.gates.Enabled(featuregate.Feature(gate)) }

// applyGates sets the gates from the file. A gate that is set by the flag overrides the file.
func (o *Options) applyGates(file map[string]bool) []error {
	values := map[string]bool{}
	maps.Copy(values, file)
	maps.Copy(values, o.gateFlag)
	o.gates = o.newGates()
	if err := o.gates.SetFromMap(values); err != nil {
		return []error{fmt.Errorf("--%s (featureGates): %w", flagFeatureGates, err)}
	}
	return nil
}

// newGates returns the gates with their defaults.
func (o *Options) newGates() featuregate.MutableFeatureGate {
	specs := map[featuregate.Feature]Gate{}
	for name, gate := range o.Gates {
		specs[featuregate.Feature(name)] = gate
	}
	gates := featuregate.NewFeatureGate()
	utilruntime.Must(gates.Add(specs))
	return gates
}

// gatesUsage lists the gates with their stages and defaults.
func (o *Options) gatesUsage() string {
	return "features to enable or disable, such as `A=true,B=false`:\n" + strings.Join(o.newGates().KnownFeatures(), "\n")
}
