package plan

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Avoidance is what a pod must or should avoid.
type Avoidance struct {
	// Labels are node labels, key to values, that the pod must avoid; SoftLabels those that it should avoid.
	Labels, SoftLabels map[string][]string
	// Nodes are the names of nodes that the pod must avoid; SoftNodes those that it should avoid.
	Nodes, SoftNodes []string
	// Weight is the weight of the soft rules.
	Weight int32
}

// maxNodes limits how many nodes a pod avoids by name.
const maxNodes = 100

// place adds the avoidance to the affinity of a pod. Required rules are added to every term, because a node needs to match only one of them.
// Soft rules become a separate preference.
func place(spec map[string]any, a Avoidance) error {
	labels, nodes := exclude(a.Labels), excludeNodes(a.Nodes)
	if len(labels)+len(nodes) > 0 {
		if err := require(spec, labels, nodes); err != nil {
			return err
		}
	}
	softLabels, softNodes := exclude(a.SoftLabels), excludeNodes(a.SoftNodes)
	if len(softLabels)+len(softNodes) > 0 {
		return prefer(spec, a.Weight, softLabels, softNodes)
	}
	return nil
}

func exclude(labels map[string][]string) []corev1.NodeSelectorRequirement {
	var all []corev1.NodeSelectorRequirement
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		all = append(all, corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpNotIn, Values: labels[key]})
	}
	return all
}

// excludeNodes returns one requirement for each node, because a field selector takes a single value.
func excludeNodes(names []string) []corev1.NodeSelectorRequirement {
	var all []corev1.NodeSelectorRequirement
	for _, name := range names[:min(len(names), maxNodes)] {
		all = append(all, corev1.NodeSelectorRequirement{Key: "metadata.name", Operator: corev1.NodeSelectorOpNotIn, Values: []string{name}})
	}
	return all
}

func require(spec map[string]any, labels, nodes []corev1.NodeSelectorRequirement) error {
	selector := child(child(child(spec, "affinity"), "nodeAffinity"), "requiredDuringSchedulingIgnoredDuringExecution")
	terms := items(selector, "nodeSelectorTerms")
	given := len(terms) > 0
	if !given {
		terms = []any{map[string]any{}}
	}
	for i, term := range terms {
		m, ok := term.(map[string]any)
		if !ok {
			return fmt.Errorf("affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[%d] is not an object", i)
		}
		if given && len(m) == 0 {
			continue // an empty term matches no node and must stay empty
		}
		if err := extend(m, "matchExpressions", labels); err != nil {
			return err
		}
		if err := extend(m, "matchFields", nodes); err != nil {
			return err
		}
	}
	selector["nodeSelectorTerms"] = terms
	return nil
}

func extend(term map[string]any, key string, add []corev1.NodeSelectorRequirement) error {
	for i := range add {
		raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&add[i])
		if err != nil {
			return fmt.Errorf("converting a requirement: %w", err)
		}
		term[key] = append(items(term, key), any(raw))
	}
	return nil
}

func prefer(spec map[string]any, weight int32, labels, nodes []corev1.NodeSelectorRequirement) error {
	affinity := child(child(spec, "affinity"), "nodeAffinity")
	const key = "preferredDuringSchedulingIgnoredDuringExecution"
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&corev1.PreferredSchedulingTerm{
		Weight: weight, Preference: corev1.NodeSelectorTerm{MatchExpressions: labels, MatchFields: nodes},
	})
	if err != nil {
		return fmt.Errorf("converting a preference: %w", err)
	}
	affinity[key] = append(items(affinity, key), any(raw))
	return nil
}
