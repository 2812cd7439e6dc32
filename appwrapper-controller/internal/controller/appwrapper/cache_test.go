package appwrapper

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/health"
)

// Templates are the largest part of a wrapped object, and its health report does not depend on them.
func TestStripWrappedDropsPodSpecs(t *testing.T) {
	const pods = "{metadata: {labels: {a: b}}, spec: {restartPolicy: Never, containers: [{name: worker, image: i}]}}"
	const kept = "{metadata: {labels: {a: b}}}"
	for name, text := range map[string]func(template string) string{
		"a Job": func(template string) string {
			return "{apiVersion: batch/v1, kind: Job, spec: {parallelism: 2, completions: 4, template: " + template + "}, status: {succeeded: 2}}"
		},
		"a JobSet": func(template string) string {
			return "{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, spec: {replicatedJobs: [{name: w, replicas: 3, template: {spec: {parallelism: 2, completions: 4, template: " + template + "}}}]}}"
		},
		"a RayCluster": func(template string) string {
			return "{apiVersion: ray.io/v1, kind: RayCluster, spec: {headGroupSpec: {template: " + template + "}, workerGroupSpecs: [{replicas: 2, template: " + template + "}]}, status: {desiredWorkerReplicas: 2}}"
		},
	} {
		t.Run(name, func(t *testing.T) {
			var full, want unstructured.Unstructured
			for text, into := range map[string]*unstructured.Unstructured{text(pods): &full, text(kept): &want} {
				raw, err := yaml.YAMLToJSON([]byte(text))
				if err == nil {
					err = into.UnmarshalJSON(raw)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			before := health.Of(&full)
			if _, err := stripWrapped(&full); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want.Object, full.Object); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(before, health.Of(&full)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
