// Package plan builds the objects of an AppWrapper. It performs no I/O.
package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/pods"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/podset"
)

type Options struct {
	// SchedulerName is set on pods that do not specify one. If empty, they use the cluster's default scheduler.
	SchedulerName string
	// Placement returns the nodes that pods with these requests avoid; nil means no restriction.
	Placement func(requests map[corev1.ResourceName]bool) Placement
}

// Component builds a component's object. It adds the labels that identify its pods, the settings from Kueue and the affinities that
// avoid bad nodes, and makes the AppWrapper its controller. Errors are permanent: the template is invalid or conflicts with an addition.
func Component(aw *v1beta2.AppWrapper, index int, attempt int32, o Options) (*unstructured.Unstructured, error) {
	component := &aw.Spec.Components[index]
	object, err := podset.Decode(component)
	if err != nil {
		return nil, err
	}
	if namespace := object.GetNamespace(); namespace != "" && namespace != aw.Namespace {
		return nil, fmt.Errorf("component %d has a different namespace: %s", index, namespace)
	}
	object.SetNamespace(aw.Namespace)
	if object.GetName() == "" {
		object.SetName(generatedName(aw, object.GetGenerateName(), index, attempt))
		object.SetGenerateName("")
	}
	labels := map[string]string{v1beta2.AppWrapperLabel: aw.Name}
	maps.Copy(labels, object.GetLabels()) // those of the template take precedence
	object.SetLabels(labels)
	object.SetOwnerReferences(append(object.GetOwnerReferences(), *metav1.NewControllerRef(aw, v1beta2.GroupVersion.WithKind(v1beta2.Kind))))
	sets, err := podset.Of(component)
	if err != nil {
		return nil, err
	}
	for i, set := range sets {
		info := v1beta2.AppWrapperPodSetInfo{}
		if i < len(component.PodSetInfos) {
			info = component.PodSetInfos[i]
		}
		if err := inject(object.Object, set.Path, aw.Name, index, info, o); err != nil {
			return nil, fmt.Errorf("pod set %s: %w", set.Path, err)
		}
	}
	return object, nil
}

// generatedName returns the same name for every call within an attempt, so that a crash never leads to two objects for one component.
func generatedName(aw *v1beta2.AppWrapper, prefix string, index int, attempt int32) string {
	if prefix == "" {
		prefix = aw.Name + "-"
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d/%d", aw.UID, index, attempt))
	suffix := hex.EncodeToString(sum[:])[:8]
	const longest = 63
	return prefix[:min(len(prefix), longest-len(suffix))] + suffix
}

func inject(object map[string]any, path, name string, index int, info v1beta2.AppWrapperPodSetInfo, o Options) error {
	template, err := podset.Map(object, path)
	if err != nil {
		return err
	}
	spec, ok := template["spec"].(map[string]any)
	if !ok {
		return fmt.Errorf("the template has no spec")
	}
	metadata := child(template, "metadata")
	ours := map[string]string{v1beta2.AppWrapperLabel: name, v1beta2.ComponentLabel: strconv.Itoa(index)}
	if err := cmp.Or(
		merge(metadata, "annotations", info.Annotations),
		merge(metadata, "labels", info.Labels),
		merge(metadata, "labels", ours),
		merge(spec, "nodeSelector", info.NodeSelector),
		extend(spec, "tolerations", info.Tolerations),
		extend(spec, "schedulingGates", info.SchedulingGates),
	); err != nil {
		return err
	}
	if given, _ := spec["schedulerName"].(string); given == "" && o.SchedulerName != "" {
		spec["schedulerName"] = o.SchedulerName
	}
	if o.Placement == nil {
		return nil
	}
	parsed, _, err := podset.Template(object, path)
	if err != nil {
		return err
	}
	return place(spec, parsed.Affinity, o.Placement(pods.Requests(parsed)))
}

// child returns a nested map, creating it if it is missing or null.
func child(of map[string]any, key string) map[string]any {
	m, ok := of[key].(map[string]any)
	if !ok {
		m = map[string]any{}
		of[key] = m
	}
	return m
}

// merge adds the given entries to a map of strings. It fails if a key already has a different value.
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

// extend adds the items that a list does not contain yet.
func extend[T any](spec map[string]any, key string, add []T) error {
	list, _ := spec[key].([]any)
	for i := range add {
		raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&add[i])
		if err != nil {
			return fmt.Errorf("converting %s: %w", key, err)
		}
		if !slices.ContainsFunc(list, func(there any) bool { return reflect.DeepEqual(there, raw) }) {
			list = append(list, raw)
			spec[key] = list
		}
	}
	return nil
}

// Placement describes which nodes a pod must avoid, and which ones it should avoid, with the weight of that preference.
type Placement struct {
	Must, Should Avoidance
	Weight       int32
}

// Avoidance describes nodes by the values of labels, and by their names in any order.
type Avoidance struct {
	Labels map[string][]string
	Nodes  []string
}

// maxNodes limits how many nodes a pod avoids by name.
const maxNodes = 100

// place adds the node exclusions to a pod's affinity. The soft rules become a separate preference.
func place(spec map[string]any, affinity *corev1.Affinity, p Placement) error {
	must, should := p.Must.term(), p.Should.term()
	if isEmpty(must) && isEmpty(should) {
		return nil
	}
	nodes := &corev1.NodeAffinity{}
	if affinity != nil && affinity.NodeAffinity != nil {
		nodes = affinity.NodeAffinity
	}
	if !isEmpty(must) {
		nodes.RequiredDuringSchedulingIgnoredDuringExecution = require(nodes.RequiredDuringSchedulingIgnoredDuringExecution, must)
	}
	if !isEmpty(should) {
		nodes.PreferredDuringSchedulingIgnoredDuringExecution = append(nodes.PreferredDuringSchedulingIgnoredDuringExecution,
			corev1.PreferredSchedulingTerm{Weight: p.Weight, Preference: should})
	}
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(nodes)
	if err != nil {
		return fmt.Errorf("converting the node affinity: %w", err)
	}
	child(spec, "affinity")["nodeAffinity"] = raw
	return nil
}

func isEmpty(t corev1.NodeSelectorTerm) bool { return len(t.MatchExpressions)+len(t.MatchFields) == 0 }

// require adds the rules to every term, because a node needs to match only one of them.
func require(selector *corev1.NodeSelector, rules corev1.NodeSelectorTerm) *corev1.NodeSelector {
	if selector == nil || len(selector.NodeSelectorTerms) == 0 {
		return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{rules}}
	}
	for i := range selector.NodeSelectorTerms {
		if term := &selector.NodeSelectorTerms[i]; !isEmpty(*term) { // an empty term matches no node and must stay empty
			term.MatchExpressions = append(term.MatchExpressions, rules.MatchExpressions...)
			term.MatchFields = append(term.MatchFields, rules.MatchFields...)
		}
	}
	return selector
}

// term returns the rules that exclude the nodes. Each name has its own rule, because a field selector takes a single value.
func (a Avoidance) term() (t corev1.NodeSelectorTerm) {
	for _, key := range slices.Sorted(maps.Keys(a.Labels)) {
		t.MatchExpressions = append(t.MatchExpressions, corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpNotIn, Values: a.Labels[key]})
	}
	names := slices.Compact(slices.Sorted(slices.Values(a.Nodes)))
	for _, name := range names[:min(len(names), maxNodes)] {
		t.MatchFields = append(t.MatchFields, corev1.NodeSelectorRequirement{Key: "metadata.name", Operator: corev1.NodeSelectorOpNotIn, Values: []string{name}})
	}
	return t
}
