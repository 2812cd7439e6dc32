// Package plain renders a chart into manifests for `kubectl apply`, for users without Helm.
package plain

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Namespace is the namespace of all objects.
const Namespace = "holdfast-system"

// Capabilities returns the capabilities of the newest supported Kubernetes version. Outside the helm program, Helm's default is
// Kubernetes 1.20.
func Capabilities() *common.Capabilities {
	newest := common.DefaultCapabilities.Copy()
	newest.KubeVersion = common.KubeVersion{Version: "v1.36.0", Major: "1", Minor: "36"}
	return newest
}

// Objects renders a chart with the given values, in an order in which they can be applied. The release is named after the chart. tag is
// the tag of our images.
func Objects(chart, tag string, values map[string]any) ([]*unstructured.Unstructured, error) {
	loaded, err := loader.LoadDir(chart)
	if err != nil {
		return nil, fmt.Errorf("loading chart %s: %w", chart, err)
	}
	loaded.Metadata.AppVersion = tag
	all, err := util.ToRenderValues(loaded, values, common.ReleaseOptions{
		Name: filepath.Base(chart), Namespace: Namespace, Revision: 1, IsInstall: true,
	}, Capabilities())
	if err != nil {
		return nil, fmt.Errorf("values of chart %s: %w", chart, err)
	}
	files, err := engine.Render(loaded, all)
	if err != nil {
		return nil, fmt.Errorf("rendering chart %s: %w", chart, err)
	}
	var objects []*unstructured.Unstructured
	for _, file := range slices.Sorted(maps.Keys(files)) {
		if filepath.Ext(file) != ".yaml" {
			continue
		}
		found, err := parse(files[file])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		objects = append(objects, found...)
	}
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int { return cmp.Compare(rank(a), rank(b)) })
	return objects, nil
}

func parse(content string) ([]*unstructured.Unstructured, error) {
	var found []*unstructured.Unstructured
	for documents := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(content))); ; {
		raw, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, err
		}
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(raw, &object.Object); err != nil {
			return nil, err
		}
		if len(object.Object) > 0 {
			withoutHelm(object)
			found = append(found, object)
		}
	}
}

// withoutHelm removes the labels and annotations that mark an object as managed by Helm.
func withoutHelm(o *unstructured.Unstructured) {
	for _, fields := range [][]string{{"metadata"}, {"spec", "template", "metadata"}} {
		for _, key := range []string{"helm.sh/chart", "app.kubernetes.io/managed-by"} {
			unstructured.RemoveNestedField(o.Object, append(slices.Clone(fields), "labels", key)...)
		}
	}
	unstructured.RemoveNestedField(o.Object, "metadata", "annotations", "helm.sh/resource-policy")
	if len(o.GetAnnotations()) == 0 {
		unstructured.RemoveNestedField(o.Object, "metadata", "annotations")
	}
}

// rank orders objects. Objects that others depend on come first. Webhooks come last, because they reject objects until their program is
// running.
func rank(o *unstructured.Unstructured) int {
	switch kind := o.GetKind(); {
	case kind == "CustomResourceDefinition":
		return 0
	case kind == "ServiceAccount":
		return 1
	case strings.HasSuffix(kind, "Role"), strings.HasSuffix(kind, "RoleBinding"):
		return 2
	case strings.HasSuffix(kind, "WebhookConfiguration"):
		return 4
	default:
		return 3
	}
}

// namespace enforces the restricted Pod Security Standard, which all our pods meet.
const namespace = `apiVersion: v1
kind: Namespace
metadata:
  labels:
    pod-security.kubernetes.io/enforce: restricted
  name: ` + Namespace + "\n"

// YAML returns a manifest with a comment, the namespace and the objects.
func YAML(comment string, objects []*unstructured.Unstructured) ([]byte, error) {
	var out bytes.Buffer
	for _, line := range strings.Split(strings.TrimSpace(comment), "\n") {
		out.WriteString(strings.TrimSpace("# "+line) + "\n")
	}
	out.WriteString("---\n" + namespace)
	for _, object := range objects {
		raw, err := yaml.Marshal(object.Object)
		if err != nil {
			return nil, fmt.Errorf("writing %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		out.WriteString("---\n")
		out.Write(raw)
	}
	return out.Bytes(), nil
}

const head = "Generated from the chart by `make manifests`.\n"

// Charts lists the charts for which a manifest is generated.
var Charts = []string{"appwrapper-controller", "elastic-operator", "holdfast-inplace", "jobset-controller", "rescheduler"}

// manifest is a file for kubectl.
type manifest struct {
	file, chart string
	comment     string
	values      map[string]any
	without     []string // kinds of objects to leave out
	added       bool     // keep only the objects that the values add to the chart's defaults
}

// extras lists manifests in addition to those for the charts' defaults.
var extras = []manifest{
	{
		file: "jobset-controller-in-place", chart: "jobset-controller",
		comment: `The JobSet controller with in-place restarts: the orchestrator alongside the manager, and a store. Apply jobset-controller.yaml first,
which contains the CRD of JobSet. The orchestrator fills the two empty Secrets with the store's password and certificate.`,
		values: map[string]any{
			"orchestrator": map[string]any{"enabled": true},
			"valkey":       map[string]any{"enabled": true},
		},
		without: []string{"CustomResourceDefinition"},
	},
	{
		file: "rescheduler-scheduler", chart: "rescheduler",
		comment: `The scheduler with the PodRescheduling plugin, for pods with schedulerName: holdfast-scheduler. The rescheduler itself is in
rescheduler.yaml. docs/rescheduler-scheduler.md describes how to run the plugin in the cluster's own scheduler.`,
		values: map[string]any{"scheduler": map[string]any{"enabled": true}},
		added:  true,
	},
}

// Write renders manifests into folder for the charts in the charts directory, with images from the given registry and with the given
// tag.
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
	return YAML(head+"\n  kubectl apply -f "+m.file+".yaml\n\n"+m.comment, objects)
}

func isSame(a, b *unstructured.Unstructured) bool {
	return a.GroupVersionKind() == b.GroupVersionKind() && a.GetNamespace() == b.GetNamespace() && a.GetName() == b.GetName()
}
