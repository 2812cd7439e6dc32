// Package kueue prepares Kueue's real manager to run on the host instead of in a pod. It reads the manifests from
// Kueue's module, changes the webhooks to use a URL, and generates a configuration.
package kueue

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Directories and files of the module sigs.k8s.io/kueue.
const (
	crdDir   = "config/components/crd"
	webhooks = "config/components/webhook/manifests.yaml"
	group    = "kueue.x-k8s.io"
)

// Webhook describes how the API server reaches the manager.
type Webhook struct {
	// URL is a base URL without a path, such as https://10.87.0.1:9743.
	URL string
	// CA is the authority's certificate in PEM format.
	CA []byte
}

// CRDs returns Kueue's CRDs. If Kueue's kustomization sets a conversion webhook for a CRD, CRDs sets ours instead.
func CRDs(module fs.FS, webhook Webhook) ([]*unstructured.Unstructured, error) {
	converted, err := convertedKinds(module)
	if err != nil {
		return nil, err
	}
	files, err := fs.Glob(module, path.Join(crdDir, "bases", "*.yaml"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("the module has no CRDs in %s (%v)", crdDir, err)
	}
	var crds []*unstructured.Unstructured
	for _, file := range files {
		objects, err := read(module, file)
		if err != nil {
			return nil, err
		}
		for _, crd := range objects {
			if converted[crd.GetName()] {
				if err := convert(crd, webhook); err != nil {
					return nil, err
				}
			}
			crds = append(crds, crd)
		}
	}
	return crds, nil
}

// convertedKinds returns the CRDs for which the kustomization's patches set a conversion webhook.
func convertedKinds(module fs.FS) (map[string]bool, error) {
	kustomizations, err := read(module, path.Join(crdDir, "kustomization.yaml"))
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, kustomization := range kustomizations {
		patches, _, err := unstructured.NestedSlice(kustomization.Object, "patches")
		if err != nil {
			return nil, err
		}
		for _, patch := range patches {
			file, _ := patch.(map[string]any)["path"].(string)
			if !strings.HasPrefix(path.Base(file), "webhook_in_") {
				continue
			}
			objects, err := read(module, path.Join(crdDir, file))
			if err != nil {
				return nil, err
			}
			for _, object := range objects {
				names[object.GetName()] = true
			}
		}
	}
	return names, nil
}

func convert(crd *unstructured.Unstructured, webhook Webhook) error {
	return unstructured.SetNestedMap(crd.Object, map[string]any{
		"strategy": "Webhook",
		"webhook": map[string]any{
			"clientConfig":             webhook.clientConfig("/convert"),
			"conversionReviewVersions": []any{"v1"},
		},
	}, "spec", "conversion")
}

// WebhookConfigurations returns the webhook configurations for Kueue's own kinds and for the frameworks, such as
// "batch/job". If the others were included, all pods and Deployments in the cluster would depend on this one manager.
func WebhookConfigurations(module fs.FS, webhook Webhook, frameworks []string) ([]*unstructured.Unstructured, error) {
	objects, err := read(module, webhooks)
	if err != nil {
		return nil, err
	}
	for _, object := range objects {
		object.SetName("kueue-" + object.GetName())
		all, _, err := unstructured.NestedSlice(object.Object, "webhooks")
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", object.GetName(), err)
		}
		var kept []any
		for _, hook := range all {
			if hook := hook.(map[string]any); concerns(hook, frameworks) {
				at, _, _ := unstructured.NestedString(hook, "clientConfig", "service", "path")
				hook["clientConfig"] = webhook.clientConfig(at)
				kept = append(kept, hook)
			}
		}
		if err := unstructured.SetNestedSlice(object.Object, kept, "webhooks"); err != nil {
			return nil, err
		}
	}
	return objects, nil
}

// concerns reports whether a webhook is for one of Kueue's kinds or of the frameworks, which are named GROUP/KIND.
func concerns(hook map[string]any, frameworks []string) bool {
	rules, _, _ := unstructured.NestedSlice(hook, "rules")
	for _, rule := range rules {
		groups, _, _ := unstructured.NestedStringSlice(rule.(map[string]any), "apiGroups")
		resources, _, _ := unstructured.NestedStringSlice(rule.(map[string]any), "resources")
		for _, g := range groups {
			for _, resource := range resources {
				if g == group || slices.Contains(frameworks, g+"/"+strings.TrimSuffix(resource, "s")) {
					return true
				}
			}
		}
	}
	return false
}

func (w Webhook) clientConfig(path string) map[string]any {
	return map[string]any{"url": w.URL + path, "caBundle": encode(w.CA)}
}

// read returns the non-empty documents of a file.
func read(module fs.FS, file string) ([]*unstructured.Unstructured, error) {
	content, err := fs.ReadFile(module, file)
	if err != nil {
		return nil, fmt.Errorf("reading Kueue's manifests: %w", err)
	}
	var objects []*unstructured.Unstructured
	for documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096); ; {
		var object map[string]any
		err := documents.Decode(&object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		if len(object) > 0 {
			objects = append(objects, &unstructured.Unstructured{Object: object})
		}
	}
}
