package bootstrap

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Names that stand for all gates of a stage, as in Kubernetes. A gate that is named itself is not meant by them.
const (
	allAlpha = "AllAlpha"
	allBeta  = "AllBeta"
)

// Gate is a feature that can be turned on and off; or one that cannot, whose name is only known.
type Gate struct {
	On     bool
	Locked bool
	Stage  Stage
}

// Stage says how settled a feature is.
type Stage string

// Stages. Without one a feature is settled.
const (
	Alpha Stage = "ALPHA"
	Beta  Stage = "BETA"
)

// Enabled tells whether the gate is on.
func (o *Options) Enabled(gate string) bool { return o.Gates[gate].On }

// gateFlag is --feature-gates: A=true,B=false. It may be repeated.
type gateFlag map[string]bool

func (f *gateFlag) String() string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(*f)) {
		pairs = append(pairs, name+"="+strconv.FormatBool((*f)[name]))
	}
	return strings.Join(pairs, ",")
}

func (*gateFlag) Type() string { return "A=true,B=false" }

func (f *gateFlag) Set(text string) error {
	if *f == nil {
		*f = gateFlag{}
	}
	for pair := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
		if name == "" && value == "" {
			continue
		}
		on, err := strconv.ParseBool(strings.TrimSpace(value))
		if err != nil {
			return fmt.Errorf("%q is not NAME=true or NAME=false", pair)
		}
		(*f)[strings.TrimSpace(name)] = on
	}
	return nil
}

// applyGates turns the gates as the file says, and then as the flag says.
func (o *Options) applyGates(file map[string]bool) []error {
	o.Gates = maps.Clone(o.Gates)
	return append(o.turn(file, "featureGates."), o.turn(o.gateFlag, "--"+flagFeatureGates+" ")...)
}

// turn the gates that are wanted. where is what the problems begin with.
func (o *Options) turn(wanted map[string]bool, where string) []error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if stage, all := stages[name]; all {
			o.turnStage(stage, wanted, wanted[name])
			continue
		}
		if err := o.turnOne(name, wanted[name]); err != nil {
			errs = append(errs, fmt.Errorf("%s%s: %w", where, name, err))
		}
	}
	return errs
}

var stages = map[string]Stage{allAlpha: Alpha, allBeta: Beta}

// turnStage leaves alone what is named itself, and what cannot be turned.
func (o *Options) turnStage(stage Stage, named map[string]bool, on bool) {
	for name, gate := range o.Gates {
		if _, itself := named[name]; gate.Stage == stage && !gate.Locked && !itself {
			gate.On = on
			o.Gates[name] = gate
		}
	}
}

func (o *Options) turnOne(name string, on bool) error {
	gate, known := o.Gates[name]
	switch {
	case !known:
		return errors.New("unknown; " + o.knownGates())
	case gate.Locked && on != gate.On:
		return fmt.Errorf("this version has it at %t only", gate.On)
	}
	gate.On = on
	o.Gates[name] = gate
	return nil
}

func (o *Options) knownGates() string {
	if len(o.Gates) == 0 {
		return "there are none"
	}
	return "known are " + strings.Join(slices.Sorted(maps.Keys(o.Gates)), ", ")
}

// usage lists the gates with what they are.
func (o *Options) gatesUsage() string {
	lines := []string{"features to turn on or off:"}
	for _, name := range slices.Sorted(maps.Keys(o.Gates)) {
		gate := o.Gates[name]
		line := fmt.Sprintf("%s=true|false (default %t)", name, gate.On)
		if gate.Stage != "" {
			line = fmt.Sprintf("%s=true|false (%s, default %t)", name, gate.Stage, gate.On)
		}
		if gate.Locked {
			line = fmt.Sprintf("%s=%t (cannot be changed)", name, gate.On)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}
