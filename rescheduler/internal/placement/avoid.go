package placement

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// nodeName is the only field that node affinity can match.
const nodeName = "metadata.name"

// Avoid returns the required node affinity, which may be nil, with the nodes excluded. Terms are alternatives, so each of them excludes all
// nodes.
func Avoid(required *corev1.NodeSelector, nodes []string) *corev1.NodeSelector {
	selector := &corev1.NodeSelector{}
	if required != nil {
		selector = required.DeepCopy()
	}
	if len(selector.NodeSelectorTerms) == 0 {
		selector.NodeSelectorTerms = []corev1.NodeSelectorTerm{{}}
	}
	for i := range selector.NodeSelectorTerms {
		term := &selector.NodeSelectorTerms[i]
		if required != nil && len(term.MatchExpressions)+len(term.MatchFields) == 0 {
			continue // an empty term matches no node, and must not change
		}
		term.MatchFields = append(term.MatchFields, without(nodes, term.MatchFields)...)
	}
	return selector
}

// without returns requirements that exclude the nodes. Each takes one value, as the API requires for fields.
func without(nodes []string, there []corev1.NodeSelectorRequirement) []corev1.NodeSelectorRequirement {
	var out []corev1.NodeSelectorRequirement
	for _, node := range nodes {
		if !slices.ContainsFunc(there, func(r corev1.NodeSelectorRequirement) bool { return isAvoided(r, node) }) {
			out = append(out, corev1.NodeSelectorRequirement{Key: nodeName, Operator: corev1.NodeSelectorOpNotIn, Values: []string{node}})
		}
	}
	return out
}

func isAvoided(r corev1.NodeSelectorRequirement, node string) bool {
	return r.Key == nodeName && r.Operator == corev1.NodeSelectorOpNotIn && len(r.Values) == 1 && r.Values[0] == node
}

// Avoids reports whether the pod's required affinity excludes one of the nodes.
func Avoids(pod *corev1.Pod, nodes []string) bool {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.NodeAffinity == nil || pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return false
	}
	for _, term := range pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		for _, r := range term.MatchFields {
			if slices.ContainsFunc(nodes, func(node string) bool { return isAvoided(r, node) }) {
				return true
			}
		}
	}
	return false
}

// WithoutExclusions returns a copy of the pod without the exclusions, to check whether lifting them helps.
func WithoutExclusions(pod *corev1.Pod, nodes []string) *corev1.Pod {
	free := pod.DeepCopy()
	if !Avoids(pod, nodes) {
		return free
	}
	terms := free.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	for i := range terms {
		terms[i].MatchFields = slices.DeleteFunc(terms[i].MatchFields, func(r corev1.NodeSelectorRequirement) bool {
			return slices.ContainsFunc(nodes, func(node string) bool { return isAvoided(r, node) })
		})
		if len(terms[i].MatchFields)+len(terms[i].MatchExpressions) == 0 {
			free.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = nil
			break
		}
	}
	return free
}
