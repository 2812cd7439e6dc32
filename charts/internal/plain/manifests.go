package plain

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const head = "Made of the chart by `make manifests`.\n"

// Charts are the charts that have a manifest.
var Charts = []string{"appwrapper-controller", "elastic-operator", "holdfast-inplace", "jobset-controller", "rescheduler"}

// manifest is a file for kubectl.
type manifest struct {
	file, chart string
	comment     string
	values      map[string]any
	without     []string // kinds of objects
	added       bool     // keep only the objects that the values add to the chart's defaults
}

// extras are manifests in addition to those of the charts' defaults.
var extras = []manifest{
	{
		file: "jobset-controller-in-place", chart: "jobset-controller",
		comment: `The JobSet controller with restarts in place: the orchestrator beside the manager, and a store. Its definition of JobSet is in
jobset-controller.yaml: apply that first. The orchestrator fills the two empty Secrets, with the store's password and its certificate.`,
		values: map[string]any{
			"orchestrator": map[string]any{"enabled": true},
			"valkey":       map[string]any{"enabled": true},
		},
		without: []string{"CustomResourceDefinition"},
	},
	{
		file: "rescheduler-scheduler", chart: "rescheduler",
		comment: `The scheduler with the plugin PodRescheduling, for pods with schedulerName: holdfast-scheduler. The rescheduler itself is in
rescheduler.yaml. How to have the plugin in the cluster's own scheduler: docs/rescheduler-scheduler.md.`,
		values: map[string]any{"scheduler": map[string]any{"enabled": true}},
		added:  true,
	},
}

// Write writes the manifests of the charts in the folder charts into a folder, for images in a registry with a tag.
func Write(charts, folder, registry, tag string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	all := slices.Clone(extras)
	for _, chart := range Charts {
		all = append(all, manifest{file: chart, chart: chart, comment: "The chart's defaults; charts/" + chart + "/values.yaml lists the other settings."})
	}
	for _, m := range all {
		content, err := m.content(charts, registry, tag)
		if err != nil {
			return fmt.Errorf("manifest %s: %w", m.file, err)
		}
		if err := os.WriteFile(filepath.Join(folder, m.file+".yaml"), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (m manifest) content(charts, registry, tag string) ([]byte, error) {
	chart := filepath.Join(charts, m.chart)
	global := map[string]any{"imageRegistry": registry}
	values := map[string]any{"global": global}
	maps.Copy(values, m.values)
	objects, err := Objects(chart, tag, values)
	if err != nil {
		return nil, err
	}
	var defaults []*unstructured.Unstructured
	if m.added {
		if defaults, err = Objects(chart, tag, map[string]any{"global": global}); err != nil {
			return nil, err
		}
	}
	objects = slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool {
		return slices.Contains(m.without, o.GetKind()) || slices.ContainsFunc(defaults, func(d *unstructured.Unstructured) bool { return isSame(d, o) })
	})
	return YAML(head+"\n  kubectl apply --server-side -f "+m.file+".yaml\n\n"+m.comment, objects)
}

func isSame(a, b *unstructured.Unstructured) bool {
	return a.GroupVersionKind() == b.GroupVersionKind() && a.GetNamespace() == b.GetNamespace() && a.GetName() == b.GetName()
}
