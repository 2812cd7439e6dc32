package main

import (
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// trimCRDs removes the descriptions of core fields from the charts' CRDs. With them, a CRD would not fit into the annotation in which
// `kubectl apply` stores it. `kubectl explain pod.spec` shows the same descriptions.
func trimCRDs() error {
	files, err := filepath.Glob("charts/*/files/crds/*.yaml")
	if err != nil {
		return err
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var crd map[string]any
		if err := yaml.Unmarshal(content, &crd); err != nil {
			return fmt.Errorf("parsing %s: %w", file, err)
		}
		trimPodSpecs(crd, false)
		if content, err = yaml.Marshal(crd); err != nil {
			return fmt.Errorf("writing %s: %w", file, err)
		}
		if err := os.WriteFile(file, append([]byte("---\n"), content...), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// trimPodSpecs removes the descriptions of pod spec fields. inPodSpec is true if the node is inside a pod spec.
func trimPodSpecs(node any, inPodSpec bool) {
	switch node := node.(type) {
	case []any:
		for _, child := range node {
			trimPodSpecs(child, inPodSpec)
		}
	case map[string]any:
		if _, isText := node["description"].(string); isText && inPodSpec {
			delete(node, "description")
		}
		properties, _ := node["properties"].(map[string]any)
		_, isPodSpec := properties["containers"]
		for _, child := range node {
			trimPodSpecs(child, inPodSpec || isPodSpec)
		}
	}
}
