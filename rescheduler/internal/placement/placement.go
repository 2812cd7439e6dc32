// Package placement determines on which nodes a pod could run according to its own constraints and the taints of nodes, and what ties it to
// one node. Resources are left to the scheduler. The package performs no I/O.
package placement

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	schedulinghelpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

// Fitting returns a function that reports whether the pod could run on a node: the node is ready and schedulable, the pod tolerates its
// taints, and the pod's node selector and required affinity match. The pod's constraints are parsed only once, even for many nodes.
func Fitting(pod *corev1.Pod) func(node *corev1.Node) bool {
	required := nodeaffinity.GetRequiredNodeAffinity(pod)
	return func(node *corev1.Node) bool {
		if !IsTrue(node, corev1.NodeReady) || node.Spec.Unschedulable || !node.DeletionTimestamp.IsZero() || !tolerated(pod, node) {
			return false
		}
		matches, err := required.Match(node)
		return err == nil && matches
	}
}

// FitsAny reports whether the pod could run on any of the nodes other than those in except.
func FitsAny(pod *corev1.Pod, nodes []corev1.Node, except []string) bool {
	fits := Fitting(pod)
	for i := range nodes {
		if !slices.Contains(except, nodes[i].Name) && fits(&nodes[i]) {
			return true
		}
	}
	return false
}

// IsTrue reports whether a condition of a node is True.
func IsTrue(node *corev1.Node, kind corev1.NodeConditionType) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == kind && c.Status == corev1.ConditionTrue })
}

func tolerated(pod *corev1.Pod, node *corev1.Node) bool {
	_, untolerated := schedulinghelpers.FindMatchingUntoleratedTaint(klog.Background(), node.Spec.Taints, pod.Spec.Tolerations, func(t *corev1.Taint) bool {
		return t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
	}, false)
	return !untolerated
}

// topologies are annotations that ask Kueue to choose the pod's node.
var topologies = []string{
	"kueue.x-k8s.io/podset-required-topology", "kueue.x-k8s.io/podset-preferred-topology", "kueue.x-k8s.io/podset-unconstrained-topology",
	"kueue.x-k8s.io/podset-slice-required-topology", "kueue.x-k8s.io/podset-slice-required-topology-constraints",
}

const (
	// topologyGate keeps a pod from being scheduled until Kueue has chosen its node, and admittedAs marks the pods that Kueue has admitted.
	// If a queue places all pods by topology, pods without a topology request also have both.
	topologyGate = "kueue.x-k8s.io/topology"
	admittedAs   = "kueue.x-k8s.io/workload"
)

// Placed reports whether Kueue chooses the pod's node by topology.
func Placed(pod *corev1.Pod) bool {
	_, admitted := pod.Annotations[admittedAs]
	_, pinned := pod.Spec.NodeSelector[corev1.LabelHostname]
	return admitted && pinned ||
		slices.ContainsFunc(topologies, func(key string) bool { _, found := pod.Annotations[key]; return found }) ||
		slices.ContainsFunc(pod.Spec.SchedulingGates, func(g corev1.PodSchedulingGate) bool { return g.Name == topologyGate })
}

// Pinned returns the part of the pod's own spec that ties it to one node, or "" if nothing does. The node name set by the scheduler is
// ignored.
func Pinned(pod *corev1.Pod) string {
	if _, found := pod.Spec.NodeSelector[corev1.LabelHostname]; found {
		return "its node selector names one host"
	}
	if terms := requiredTerms(pod); len(terms) > 0 && !slices.ContainsFunc(terms, open) {
		return "its node affinity names one host"
	}
	return ""
}

// requiredTerms returns the terms of the pod's required node affinity.
func requiredTerms(pod *corev1.Pod) []corev1.NodeSelectorTerm {
	a := pod.Spec.Affinity
	if a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return nil
	}
	return a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
}

// open reports whether a term allows more than one host.
func open(term corev1.NodeSelectorTerm) bool {
	one := func(r corev1.NodeSelectorRequirement, key string) bool {
		return r.Key == key && r.Operator == corev1.NodeSelectorOpIn && len(r.Values) == 1
	}
	return !slices.ContainsFunc(term.MatchExpressions, func(r corev1.NodeSelectorRequirement) bool { return one(r, corev1.LabelHostname) }) &&
		!slices.ContainsFunc(term.MatchFields, func(r corev1.NodeSelectorRequirement) bool { return one(r, metav1.ObjectNameField) })
}

// TiedTo reports whether a volume can be used only on one host.
func TiedTo(volume *corev1.PersistentVolume) bool {
	if volume.Spec.HostPath != nil {
		return true
	}
	if volume.Spec.NodeAffinity == nil || volume.Spec.NodeAffinity.Required == nil {
		return false
	}
	return !slices.ContainsFunc(volume.Spec.NodeAffinity.Required.NodeSelectorTerms, open)
}

// Exclude adds the nodes to the required node affinity of a pod. See Avoid.
func Exclude(spec *corev1.PodSpec, nodes []string) {
	if spec.Affinity == nil {
		spec.Affinity = &corev1.Affinity{}
	}
	if spec.Affinity.NodeAffinity == nil {
		spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	a := spec.Affinity.NodeAffinity
	a.RequiredDuringSchedulingIgnoredDuringExecution = Avoid(a.RequiredDuringSchedulingIgnoredDuringExecution, nodes)
}

// Avoid returns the required node affinity, which may be nil, with the nodes excluded. The terms are alternatives, so all nodes are
// excluded in each of them.
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
			continue // an empty term matches no node, and must stay empty
		}
		for _, node := range nodes {
			if slices.ContainsFunc(term.MatchFields, func(r corev1.NodeSelectorRequirement) bool { return excludes(r, node) }) {
				continue
			}
			term.MatchFields = append(term.MatchFields, corev1.NodeSelectorRequirement{
				Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpNotIn, Values: []string{node}, // the API requires a single value
			})
		}
	}
	return selector
}

// excludes reports whether the requirement only excludes one of the nodes.
func excludes(r corev1.NodeSelectorRequirement, nodes ...string) bool {
	return r.Key == metav1.ObjectNameField && r.Operator == corev1.NodeSelectorOpNotIn && len(r.Values) == 1 && slices.Contains(nodes, r.Values[0])
}

// Avoids reports whether the pod's required affinity excludes one of the nodes.
func Avoids(pod *corev1.Pod, nodes []string) bool {
	return slices.ContainsFunc(requiredTerms(pod), func(term corev1.NodeSelectorTerm) bool {
		return slices.ContainsFunc(term.MatchFields, func(r corev1.NodeSelectorRequirement) bool { return excludes(r, nodes...) })
	})
}

// WithoutExclusions returns a copy of the pod without the exclusions, for checking whether lifting them helps.
func WithoutExclusions(pod *corev1.Pod, nodes []string) *corev1.Pod {
	free := pod.DeepCopy()
	if !Avoids(pod, nodes) {
		return free
	}
	terms := requiredTerms(free)
	for i := range terms {
		terms[i].MatchFields = slices.DeleteFunc(terms[i].MatchFields, func(r corev1.NodeSelectorRequirement) bool { return excludes(r, nodes...) })
		if len(terms[i].MatchFields)+len(terms[i].MatchExpressions) == 0 {
			free.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = nil
			break
		}
	}
	return free
}
