package plugin

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// argsKind is the kind of the arguments. It may be omitted, and is checked otherwise.
const argsKind = "PodReschedulingArgs"

// exhaustion is what happens to a pod that only its exclusions keep from being scheduled.
type exhaustion string

const (
	// relax drops the exclusions of the pod and removes its annotation.
	relax exhaustion = "Relax"
	// wait keeps them until another node fits or the annotation changes.
	wait exhaustion = "Wait"
)

// args are the arguments of the plugin in the scheduler configuration.
type args struct {
	metav1.TypeMeta `json:",inline"`

	// OnExhaustion is Relax or Wait; Relax by default.
	OnExhaustion exhaustion `json:"onExhaustion,omitempty"`
}

// readArgs decodes the arguments, which the scheduler passes on undecoded. Unknown fields and invalid values are errors that name the field.
func readArgs(arguments runtime.Object) (args, error) {
	a := args{OnExhaustion: relax}
	switch raw := arguments.(type) {
	case nil:
	case *runtime.Unknown:
		if raw == nil {
			break
		}
		if err := yaml.UnmarshalStrict(raw.Raw, &a); err != nil {
			return args{}, fmt.Errorf("reading the arguments of %s: %w", Name, err)
		}
	default:
		return args{}, fmt.Errorf("the arguments of %s have the unexpected type %T", Name, arguments)
	}
	switch {
	case a.Kind != "" && a.Kind != argsKind:
		return args{}, fmt.Errorf("args.kind: %q is not %s", a.Kind, argsKind)
	case a.OnExhaustion != relax && a.OnExhaustion != wait:
		return args{}, fmt.Errorf("args.onExhaustion: %q is neither %s nor %s", a.OnExhaustion, relax, wait)
	}
	return a, nil
}
