// Package settings is the plugin's arguments in the scheduler's configuration: their defaults, bounds and form.
package settings

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"
)

// Kind may be given with the arguments, and is checked then.
const Kind = "PodReschedulingArgs"

// Strategy is how the scheduler is kept off the excluded nodes. The plugin's Filter guards both: a nominated node, and the hint of a batch,
// are tried without a look at what PreFilter said.
type Strategy string

const (
	// Filter looks each node up as the scheduler comes to it.
	Filter Strategy = "Filter"
	// PreFilterResult gives the scheduler the list of all nodes that are left, as the seed describes it. It costs time and memory
	// in proportion to the cluster for each such pod, and the search goes through the nodes in no order.
	PreFilterResult Strategy = "PreFilterResult"
)

// Exhaustion is what happens to a pod that would fit, were it not for its exclusions.
type Exhaustion string

const (
	// Relax drops the exclusions of that pod and clears its annotation.
	Relax Exhaustion = "Relax"
	// Wait keeps them: the pod waits for another node, or for whoever wrote the annotation to change it.
	Wait Exhaustion = "Wait"
)

// Args of the plugin. The zero value of a field means its default.
type Args struct {
	metav1.TypeMeta `json:",inline"`

	// strategy is Filter or PreFilterResult; Filter by default.
	Strategy Strategy `json:"strategy,omitempty"`
	// onExhaustion is Relax or Wait; Relax by default.
	OnExhaustion Exhaustion `json:"onExhaustion,omitempty"`
	// relaxedForSeconds is how long the scheduler ignores an annotation that it dropped but could not clear, 10 to 86400; 300 by default.
	RelaxedForSeconds int `json:"relaxedForSeconds,omitempty"`
	// clearAnnotation: the annotation of a relaxed pod is removed, for which the scheduler needs the right to patch pods; true by default.
	ClearAnnotation *bool `json:"clearAnnotation,omitempty"`
}

// Read the arguments as they are in the scheduler's configuration, JSON or YAML, with defaults filled in. Nothing at all means the defaults.
// Unknown fields and values out of bounds are errors that name the field.
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
