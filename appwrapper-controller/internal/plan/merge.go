package plan

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/pods"
)

// child is a map within a map; what is not there, or is null, is made.
func child(of map[string]any, key string) map[string]any {
	m, ok := of[key].(map[string]any)
	if !ok {
		m = map[string]any{}
		of[key] = m
	}
	return m
}

// merge adds strings to a map of strings. The error names the key under which there is another value.
func merge(into map[string]any, key string, add map[string]string) error {
	if len(add) == 0 {
		return nil
	}
	m := child(into, key)
	for _, k := range slices.Sorted(maps.Keys(add)) {
		if there, found := m[k]; found && there != add[k] {
			return fmt.Errorf("conflict updating %s: %s is %q, not %q", key, k, there, add[k])
		}
		m[k] = add[k]
	}
	return nil
}

func withDefaults(labels, defaults map[string]string) map[string]string {
	all := maps.Clone(defaults)
	maps.Copy(all, labels)
	return all
}

func items(of map[string]any, key string) []any {
	list, _ := of[key].([]any)
	return list
}

// tolerate adds tolerations that are not there.
func tolerate(spec map[string]any, add []corev1.Toleration) error {
	for i := range add {
		raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&add[i])
		if err != nil {
			return fmt.Errorf("converting a toleration: %w", err)
		}
		list := items(spec, "tolerations")
		if !slices.ContainsFunc(list, func(there any) bool { return reflect.DeepEqual(there, raw) }) {
			spec["tolerations"] = append(list, raw)
		}
	}
	return nil
}

// gate adds scheduling gates that are not there.
func gate(spec map[string]any, add []corev1.PodSchedulingGate) {
	for _, g := range add {
		list := items(spec, "schedulingGates")
		named := func(there any) bool {
			m, _ := there.(map[string]any)
			return m["name"] == g.Name
		}
		if !slices.ContainsFunc(list, named) {
			spec["schedulingGates"] = append(list, any(map[string]any{"name": g.Name}))
		}
	}
}

func requests(spec *corev1.PodSpec) map[corev1.ResourceName]bool { return pods.Requests(spec) }
