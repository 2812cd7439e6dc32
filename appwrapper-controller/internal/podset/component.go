package podset

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
)

// Decode reads the object of a component.
func Decode(component *v1beta2.AppWrapperComponent) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(component.Template.Raw); err != nil {
		return nil, fmt.Errorf("failed to decode as JSON: %w", err)
	}
	return object, nil
}

// Of returns the pod sets of a component as they are recorded in the status: those declared, or else those inferred. Never nil,
// which the definition of AppWrapper does not allow.
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
