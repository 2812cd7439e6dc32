package main

import (
	"errors"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-project/holdfast/charts/internal/plain"
)

const generated = "Generated from charts/ by `make generate`: do not edit.\n"

// manifest is a file in config/.
type manifest struct {
	file, chart string
	comment     string
	values      map[string]any
	without     []string // kinds
	added       bool     // only what the values add to the chart's defaults
}

// inPlace is put over the JobSet controller's own file.
var inPlace = manifest{
	file: "jobset-controller-in-place", chart: "jobset-controller",
	comment: `The JobSet controller with restarts in place: the orchestrator beside the manager, and a store. Its definition of JobSet is in
jobset-controller.yaml, which is to be applied first. It needs two Secrets in the namespace holdfast-system:
  holdfast-store      password: what you choose
  holdfast-store-tls  tls.crt and tls.key for valkey.holdfast-system.svc and valkey.holdfast-system.svc.cluster.local, and ca.crt`,
	values: map[string]any{
		"orchestrator": map[string]any{"enabled": true},
		"valkey": map[string]any{
			"enabled": true, "existingSecret": "holdfast-store", "tls": map[string]any{"existingSecret": "holdfast-store-tls"},
		},
	},
	without: []string{"CustomResourceDefinition"},
}

// secondScheduler stands beside the rescheduler's own file, and without it too.
var secondScheduler = manifest{
	file: "rescheduler-scheduler", chart: "rescheduler",
	comment: `The scheduler with the plugin PodRescheduling, for pods with schedulerName: holdfast-scheduler. The rescheduler itself is in
rescheduler.yaml. How to have the plugin in the cluster's own scheduler: docs/rescheduler-scheduler.md.`,
	values: map[string]any{"scheduler": map[string]any{"enabled": true}},
	added:  true,
}

// writeManifests puts the charts' defaults into the folder config of the repository, for kubectl.
func writeManifests() error {
	for _, chart := range charts {
		m := manifest{file: chart, chart: chart, comment: "The chart's defaults; charts/" + chart + "/values.yaml says what else there is."}
		if err := m.write(); err != nil {
			return err
		}
	}
	return errors.Join(inPlace.write(), secondScheduler.write())
}

func (m manifest) write() error {
	objects, err := plain.Objects(m.chart, m.values)
	if err != nil {
		return err
	}
	var defaults []*unstructured.Unstructured
	if m.added {
		if defaults, err = plain.Objects(m.chart, nil); err != nil {
			return err
		}
	}
	objects = slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool {
		return slices.Contains(m.without, o.GetKind()) || slices.ContainsFunc(defaults, func(d *unstructured.Unstructured) bool { return isSame(d, o) })
	})
	content, err := plain.YAML(generated+"\n  kubectl apply --server-side -f config/"+m.file+".yaml\n\n"+m.comment, objects)
	if err != nil {
		return err
	}
	return writeFile(content, filepath.Join("..", "config"), m.file+".yaml")
}

func isSame(a, b *unstructured.Unstructured) bool {
	return a.GroupVersionKind() == b.GroupVersionKind() && a.GetNamespace() == b.GetNamespace() && a.GetName() == b.GetName()
}
