package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// narrowed holds, by webhook name, the fields that limit which Jobs and pods the API server sends to the webhook. Only a small share of
// a cluster's Jobs and pods concerns these webhooks, and controller-gen's markers cannot express such rules.
var narrowed = map[string]map[string]any{
	"mpod.kb.io": placedExclusively(),
	"vpod.kb.io": placedExclusively(),
	// Jobs of JobSets, and Jobs that request in-place restarts themselves.
	"mjob.holdfast.dev": {"matchConditions": []any{condition("may-have-a-group",
		"has(object.metadata.labels) && 'jobset.sigs.k8s.io/jobset-name' in object.metadata.labels || "+
			"has(object.metadata.annotations) && 'alpha.jobset.sigs.k8s.io/inplace-timeout' in object.metadata.annotations")}},
	// Pods that declare a group, and pods of LeaderWorkerSets.
	"mpod.holdfast.dev": {"matchConditions": []any{condition("may-have-a-group",
		"has(object.metadata.labels) && ('holdfast.dev/group-name' in object.metadata.labels || "+
			"'leaderworkerset.sigs.k8s.io/name' in object.metadata.labels)")}},
}

// placedExclusively matches pods of JobSets that request exclusive placement, except those whose nodes were reserved beforehand. The
// selector is cheap, because the API server keeps selectors compiled and only compares labels.
func placedExclusively() map[string]any {
	return map[string]any{
		"objectSelector": map[string]any{"matchExpressions": []any{map[string]any{"key": "jobset.sigs.k8s.io/jobset-name", "operator": "Exists"}}},
		"matchConditions": []any{
			condition("placed-exclusively",
				"has(object.metadata.annotations) && 'alpha.jobset.sigs.k8s.io/exclusive-topology' in object.metadata.annotations"),
			condition("by-this-webhook", "!('alpha.jobset.sigs.k8s.io/node-selector' in object.metadata.annotations)"),
		},
	}
}

func condition(name, expression string) map[string]any {
	return map[string]any{"name": name, "expression": expression}
}

// narrowWebhooks adds the fields to the webhook configurations in the JobSet charts.
func narrowWebhooks() error {
	for _, chart := range []string{"jobset-controller", "holdfast-inplace"} {
		file := filepath.Join("charts", chart, "files", "webhook", "manifests.yaml")
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if content, err = narrow(content); err != nil {
			return fmt.Errorf("narrowing %s: %w", file, err)
		}
		if err := os.WriteFile(file, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func narrow(content []byte) ([]byte, error) {
	const separator = "---\n"
	var out []byte
	for document := range bytes.SplitSeq(content, []byte(separator)) {
		if len(bytes.TrimSpace(document)) == 0 {
			continue
		}
		var configuration map[string]any
		if err := yaml.Unmarshal(document, &configuration); err != nil {
			return nil, err
		}
		hooks, _ := configuration["webhooks"].([]any)
		for _, hook := range hooks {
			hook := hook.(map[string]any)
			name, _ := hook["name"].(string)
			maps.Copy(hook, narrowed[name])
		}
		rendered, err := yaml.Marshal(configuration)
		if err != nil {
			return nil, err
		}
		out = append(append(out, separator...), rendered...)
	}
	return out, nil
}
