package podset

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Template returns the pod specification of the template at the path. unknown says which of its fields this program does not
// know: those of a Kubernetes newer than the one it was built for, or typing errors. The error says why it is no pod template.
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
	converter := runtime.DefaultUnstructuredConverter
	if err := converter.FromUnstructured(raw, spec); err != nil {
		return nil, nil, fmt.Errorf("content at %v.spec not parseable as a v1.PodSpec: %w", path, err)
	}
	if strict := converter.FromUnstructuredWithValidation(raw, &corev1.PodSpec{}, true); strict != nil {
		unknown = fmt.Errorf("content at %v.spec: %w", path, strict)
	}
	return spec, unknown, nil
}
