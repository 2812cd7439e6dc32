// Package settings has the arguments of the plugin in the scheduler configuration, with defaults and limits.
package settings

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

// Kind of the arguments. It may be omitted, and is checked otherwise.
const Kind = "PodReschedulingArgs"

// Strategy is how the scheduler avoids excluded nodes. With both, Filter rejects them, because nominated nodes and batch hints skip
// PreFilter.
type Strategy string

const (
	// Filter checks each node when the scheduler considers it.
	Filter Strategy = "Filter"
	// PreFilterResult passes the list of remaining nodes to the scheduler, as the seed describes. For each such pod it takes time and
	// memory proportional to the size of the cluster, and the scheduler considers the nodes in random order.
	PreFilterResult Strategy = "PreFilterResult"
)

// Exhaustion is what happens to a pod that only its exclusions keep from being scheduled.
type Exhaustion string

const (
	// Relax drops the exclusions of the pod and removes its annotation.
	Relax Exhaustion = "Relax"
	// Wait keeps them until another node fits or the annotation changes.
	Wait Exhaustion = "Wait"
)

// Args are the arguments of the plugin. Zero values mean the defaults.
type Args struct {
	metav1.TypeMeta `json:",inline"`

	// strategy is Filter or PreFilterResult; Filter by default.
	Strategy Strategy `json:"strategy,omitempty"`
	// onExhaustion is Relax or Wait; Relax by default.
	OnExhaustion Exhaustion `json:"onExhaustion,omitempty"`
	// relaxedForSeconds is how long a dropped annotation is ignored if it cannot be removed, 10 to 86400; 300 by default.
	RelaxedForSeconds int `json:"relaxedForSeconds,omitempty"`
	// clearAnnotation removes the annotation of a relaxed pod, which requires permission to patch pods; true by default.
	ClearAnnotation *bool `json:"clearAnnotation,omitempty"`
}

// Read parses the arguments, JSON or YAML, and sets defaults. Empty input means the defaults. Unknown fields and invalid values are errors
// that name the field.
func Read(raw []byte) (Args, error) {
	var args Args
	if err := yaml.UnmarshalStrict(raw, &args); err != nil {
		return Args{}, fmt.Errorf("reading the arguments of PodRescheduling: %w", err)
	}
	args.setDefaults()
	if err := args.validate().ToAggregate(); err != nil {
		return Args{}, err
	}
	return args, nil
}

func (a *Args) setDefaults() {
	setDefault(&a.Strategy, Filter)
	setDefault(&a.OnExhaustion, Relax)
	setDefault(&a.RelaxedForSeconds, 300)
	if a.ClearAnnotation == nil {
		clear := true
		a.ClearAnnotation = &clear
	}
}

func setDefault[T comparable](value *T, to T) {
	var zero T
	if *value == zero {
		*value = to
	}
}

func (a *Args) validate() field.ErrorList {
	path := field.NewPath("args")
	var errs field.ErrorList
	if a.Kind != "" && a.Kind != Kind {
		errs = append(errs, field.NotSupported(path.Child("kind"), a.Kind, []string{Kind}))
	}
	errs = append(errs, oneOf(path.Child("strategy"), a.Strategy, Filter, PreFilterResult)...)
	errs = append(errs, oneOf(path.Child("onExhaustion"), a.OnExhaustion, Relax, Wait)...)
	return append(errs, between(path.Child("relaxedForSeconds"), a.RelaxedForSeconds, 10, 86400)...)
}

func oneOf[T ~string](path *field.Path, value T, allowed ...T) field.ErrorList {
	for _, a := range allowed {
		if value == a {
			return nil
		}
	}
	return field.ErrorList{field.NotSupported(path, value, allowed)}
}

func between(path *field.Path, value, least, most int) field.ErrorList {
	if value >= least && value <= most {
		return nil
	}
	return field.ErrorList{field.Invalid(path, value, fmt.Sprintf("must be between %d and %d", least, most))}
}
