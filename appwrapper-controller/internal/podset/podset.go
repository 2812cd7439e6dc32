// Package podset finds the pods that a wrapped object will create: the paths of their templates and their counts. Kueue independently
// computes the same values from the same object, so paths, counts and order must match. The package performs no I/O.
package podset

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
)

func Decode(component *v1beta2.AppWrapperComponent) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(component.Template.Raw); err != nil {
		return nil, fmt.Errorf("failed to decode as JSON: %w", err)
	}
	return object, nil
}

// Of returns the pod sets of a component for the status: the declared ones if present, otherwise the inferred ones. The result is never
// nil, because the CRD does not allow null.
func Of(component *v1beta2.AppWrapperComponent) ([]v1beta2.AppWrapperPodSet, error) {
	if len(component.DeclaredPodSets) > 0 {
		return component.DeclaredPodSets, nil
	}
	object, err := Decode(component)
	if err != nil {
		return nil, err
	}
	return Infer(object)
}

// Template returns the pod spec at the path. unknown lists fields that this program does not recognize: typos, or fields from a newer
// Kubernetes version. err is set if there is no pod template at the path.
func Template(object map[string]any, path string) (spec *corev1.PodSpec, unknown error, err error) {
	template, err := Map(object, path)
	if err != nil {
		return nil, nil, err
	}
	raw, ok := template["spec"].(map[string]any)
	if !ok {
		return nil, nil, fmt.Errorf("content at %v does not contain a spec", path)
	}
	spec = &corev1.PodSpec{}
	err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(raw, spec, true)
	switch {
	case runtime.IsStrictDecodingError(err):
		unknown = fmt.Errorf("content at %v.spec: %w", path, err)
	case err != nil:
		return nil, nil, fmt.Errorf("content at %v.spec not parseable as a v1.PodSpec: %w", path, err)
	}
	return spec, unknown, nil
}

// Check compares declared pod sets with inferred ones. Paths must be unique. If there are inferred sets, paths and counts must match in any
// order.
func Check(declared, inferred []v1beta2.AppWrapperPodSet) error {
	if len(declared) == 0 {
		return nil
	}
	byPath := map[string]v1beta2.AppWrapperPodSet{}
	for _, set := range declared {
		if _, twice := byPath[set.Path]; twice {
			return fmt.Errorf("multiple DeclaredPodSets with path '%v'", set.Path)
		}
		byPath[set.Path] = set
	}
	if len(inferred) == 0 {
		return nil
	}
	if len(inferred) != len(declared) {
		return fmt.Errorf("DeclaredPodSet count %v differs from inferred count %v", len(declared), len(inferred))
	}
	for _, want := range inferred {
		got, found := byPath[want.Path]
		if !found {
			return fmt.Errorf("PodSet with path '%v' is missing", want.Path)
		}
		if got.Count() != want.Count() {
			return fmt.Errorf("replica count %v differs from inferred count %v for PodSet at path position '%v'", got.Count(), want.Count(), want.Path)
		}
	}
	return nil
}
