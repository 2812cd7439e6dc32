// Command narrow adds rules to generated webhook configurations that limit which Jobs and pods the API server sends to
// the webhooks. Only a small share of the Jobs and pods in a cluster concerns the webhooks, and markers cannot express
// such rules.
package main

import (
	"bytes"
	"fmt"
	"os"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: narrow FILE")
		os.Exit(2)
	}
	if err := narrowFile(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "narrow:", err)
		os.Exit(1)
	}
}

func narrowFile(path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	narrowed, err := narrow(content)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, narrowed, 0o644)
}

var separator = []byte("---\n")

func narrow(content []byte) ([]byte, error) {
	var out []byte
	for document := range bytes.SplitSeq(content, separator) {
		if len(bytes.TrimSpace(document)) == 0 {
			continue
		}
		var configuration map[string]any
		if err := yaml.Unmarshal(document, &configuration); err != nil {
			return nil, err
		}
		hooks, _ := configuration["webhooks"].([]any)
		for _, hook := range hooks {
			narrowHook(hook.(map[string]any))
		}
		rendered, err := yaml.Marshal(configuration)
		if err != nil {
			return nil, err
		}
		out = append(append(out, separator...), rendered...)
	}
	return out, nil
}

func narrowHook(hook map[string]any) {
	rule := hook["rules"].([]any)[0].(map[string]any)
	switch name := hook["name"]; {
	case name == besideWebhook:
		hook["matchConditions"] = groups()
	case name == besidePods:
		hook["matchConditions"] = podGroups()
	case rule["resources"].([]any)[0] == "pods":
		hook["objectSelector"] = ofJobSets()
		hook["matchConditions"] = exclusively()
	}
}

// besideWebhook prepares Jobs alongside the upstream JobSet controller. besidePods prepares pods that declare a group.
const (
	besideWebhook = "mjob.holdfast.dev"
	besidePods    = "mpod.holdfast.dev"
)

// groups matches Jobs of JobSets, and Jobs that request in-place restarts themselves.
func groups() []admissionv1.MatchCondition {
	return []admissionv1.MatchCondition{{Name: "may-have-a-group", Expression: fmt.Sprintf(
		"has(object.metadata.labels) && '%s' in object.metadata.labels || has(object.metadata.annotations) && '%s' in object.metadata.annotations",
		v1alpha2.JobSetNameKey, v1alpha2.InPlaceTimeoutKey)}}
}

// podGroups matches pods that declare a group, and pods of LeaderWorkerSets.
func podGroups() []admissionv1.MatchCondition {
	return []admissionv1.MatchCondition{{Name: "may-have-a-group", Expression: fmt.Sprintf(
		"has(object.metadata.labels) && ('%s' in object.metadata.labels || '%s' in object.metadata.labels)", v1alpha2.PodGroupKey, inplace.LeaderWorkerSetKey)}}
}

// ofJobSets is cheap, because the API server keeps selectors compiled and only compares labels.
func ofJobSets() metav1.LabelSelector {
	return metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: v1alpha2.JobSetNameKey, Operator: metav1.LabelSelectorOpExists},
	}}
}

// exclusively matches pods that request exclusive placement, except those whose nodes were reserved beforehand.
func exclusively() []admissionv1.MatchCondition {
	return []admissionv1.MatchCondition{
		{Name: "placed-exclusively", Expression: fmt.Sprintf("has(object.metadata.annotations) && '%s' in object.metadata.annotations", v1alpha2.ExclusiveKey)},
		{Name: "by-this-webhook", Expression: fmt.Sprintf("!('%s' in object.metadata.annotations)", v1alpha2.NodeSelectorStrategyKey)},
	}
}
