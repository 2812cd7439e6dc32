package podset

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
)

func object(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	return o
}

// sets formats pod sets on one line: path*count, with their annotations.
func sets(list []v1beta2.AppWrapperPodSet) string {
	var texts []string
	for _, s := range list {
		text := fmt.Sprintf("%s*%d", s.Path, s.Count())
		for _, key := range []string{v1beta2.PodIndexLabelKey, v1beta2.SubGroupIndexLabelKey, v1beta2.SubGroupCountKey} {
			if value, found := s.Annotations[key]; found {
				text += " " + value
			}
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "; ")
}

const spec = `spec: {containers: [{name: a, image: b}]}`

var kinds = map[string]struct{ object, inferred, declared string }{
	"a Pod is its own template":          {object: `{apiVersion: v1, kind: Pod, ` + spec + `}`, inferred: "template*1"},
	"a Deployment with default replicas": {object: `{apiVersion: apps/v1, kind: Deployment, spec: {template: {` + spec + `}}}`, inferred: "template.spec.template*1"},
	"a Deployment with replicas":         {object: `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 3, template: {` + spec + `}}}`, inferred: "template.spec.template*3"},
	"a StatefulSet":                      {object: `{apiVersion: apps/v1, kind: StatefulSet, spec: {replicas: 2, template: {` + spec + `}}}`, inferred: "template.spec.template*2"},
	"a Job without counts":               {object: `{apiVersion: batch/v1, kind: Job, spec: {template: {` + spec + `}}}`, inferred: "template.spec.template*1 batch.kubernetes.io/job-completion-index"},
	"a Job that runs in waves":           {object: `{apiVersion: batch/v1, kind: Job, spec: {parallelism: 2, completions: 9, template: {` + spec + `}}}`, inferred: "template.spec.template*2 batch.kubernetes.io/job-completion-index"},
	"a Job with few completions":         {object: `{apiVersion: batch/v1, kind: Job, spec: {parallelism: 4, completions: 3, template: {` + spec + `}}}`, inferred: "template.spec.template*3 batch.kubernetes.io/job-completion-index"},
	"completions do not add pods":        {object: `{apiVersion: batch/v1, kind: Job, spec: {completions: 3, template: {` + spec + `}}}`, inferred: "template.spec.template*1 batch.kubernetes.io/job-completion-index"},
	"a JobSet": {object: `{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, spec: {replicatedJobs: [
		{name: driver, template: {spec: {template: {` + spec + `}}}},
		{name: workers, replicas: 2, template: {spec: {parallelism: 4, completions: 3, template: {` + spec + `}}}}]}}`,
		inferred: "template.spec.replicatedJobs[0].template.spec.template*1 batch.kubernetes.io/job-completion-index jobset.sigs.k8s.io/job-index 1; " +
			"template.spec.replicatedJobs[1].template.spec.template*6 batch.kubernetes.io/job-completion-index jobset.sigs.k8s.io/job-index 2"},
	"a PyTorchJob, its master first": {object: `{apiVersion: kubeflow.org/v1, kind: PyTorchJob, spec: {pytorchReplicaSpecs: {
		Worker: {replicas: 3, template: {` + spec + `}}, Master: {template: {` + spec + `}}}}}`,
		inferred: "template.spec.pytorchReplicaSpecs.Master.template*1 training.kubeflow.org/replica-index; template.spec.pytorchReplicaSpecs.Worker.template*3 training.kubeflow.org/replica-index"},
	"a PyTorchJob without a master": {object: `{apiVersion: kubeflow.org/v1, kind: PyTorchJob, spec: {pytorchReplicaSpecs: {Worker: {template: {` + spec + `}}}}}`,
		inferred: "template.spec.pytorchReplicaSpecs.Worker.template*1 training.kubeflow.org/replica-index"},
	"a RayCluster": {object: `{apiVersion: ray.io/v1, kind: RayCluster, spec: {headGroupSpec: {template: {` + spec + `}}, workerGroupSpecs: [
		{replicas: 2, template: {` + spec + `}}, {template: {` + spec + `}}]}}`,
		inferred: "template.spec.headGroupSpec.template*1; template.spec.workerGroupSpecs[0].template*2; template.spec.workerGroupSpecs[1].template*1"},
	"a RayJob": {object: `{apiVersion: ray.io/v1, kind: RayJob, spec: {rayClusterSpec: {headGroupSpec: {template: {` + spec + `}}}}}`,
		inferred: "template.spec.rayClusterSpec.headGroupSpec.template*1"},
	"a Service has none": {object: `{apiVersion: v1, kind: Service}`},
	"an MPIJob is declared": {object: `{apiVersion: kubeflow.org/v2beta1, kind: MPIJob, spec: {mpiReplicaSpecs: {
		Worker: {replicas: 2, template: {` + spec + `}}, Launcher: {replicas: 1, template: {` + spec + `}}}}}`,
		declared: "template.spec.mpiReplicaSpecs.Launcher.template*1; template.spec.mpiReplicaSpecs.Worker.template*2"},
	"B-28: two groups of three pods have four workers": {object: `{apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, spec: {replicas: 2,
		leaderWorkerTemplate: {size: 3, leaderTemplate: {` + spec + `}, workerTemplate: {` + spec + `}}}}`,
		declared: "template.spec.leaderWorkerTemplate.leaderTemplate*2; template.spec.leaderWorkerTemplate.workerTemplate*4"},
	"leaders that use the worker template": {object: `{apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, spec: {replicas: 2,
		leaderWorkerTemplate: {size: 3, workerTemplate: {` + spec + `}}}}`, declared: "template.spec.leaderWorkerTemplate.workerTemplate*6"},
	"an ElasticJob": {object: `{apiVersion: elastic.pytorch.org/v1alpha1, kind: ElasticJob, spec: {replicaSpecs: {Worker: {replicas: 2, template: {` + spec + `}}}}}`,
		declared: "template.spec.replicaSpecs.Worker.template*2"},
}

func TestInfer(t *testing.T) {
	for name, tc := range kinds {
		t.Run(name, func(t *testing.T) {
			o := object(t, tc.object)
			inferred, err := Infer(o)
			if err != nil {
				t.Fatal(err)
			}
			declared, err := Declare(o)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{tc.inferred, tc.declared}, []string{sets(inferred), sets(declared)}); diff != "" {
				t.Error(diff)
			}
			if inferred == nil {
				t.Error("the pod sets are nil, which the CRD does not allow")
			}
		})
	}
}

func TestInferInvalidObjects(t *testing.T) {
	for name, tc := range map[string]struct{ object, want string }{
		"a Job without a template":           {`{apiVersion: batch/v1, kind: Job, spec: {}}`, "missing field 'template'"},
		"a Job without a pod spec":           {`{apiVersion: batch/v1, kind: Job, spec: {template: {}}}`, "does not contain a spec"},
		"a Pod with a wrong type":            {`{apiVersion: v1, kind: Pod, spec: {containers: 3}}`, "not parseable as a v1.PodSpec"},
		"replicas that are not a number":     {`{apiVersion: apps/v1, kind: Deployment, spec: {replicas: many, template: {` + spec + `}}}`, "non-int value many"},
		"a RayCluster without a head":        {`{apiVersion: ray.io/v1, kind: RayCluster, spec: {}}`, "missing field 'headGroupSpec'"},
		"a PyTorchJob with invalid replicas": {`{apiVersion: kubeflow.org/v1, kind: PyTorchJob, spec: {pytorchReplicaSpecs: {Master: {replicas: x, template: {` + spec + `}}}}}`, "Master.replicas' non-int"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Infer(object(t, tc.object)); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestPaths(t *testing.T) {
	o := object(t, `{kind: A, spec: {a: {b: [{c: 1}, {c: 2}]}, "": 3}}`).Object
	for path, want := range map[string]string{
		"template":                "map",
		"template.spec.a.b[1].c":  "2",
		"template.spec.a.b[0]":    "map",
		"template.spec.":          "3",
		"spec":                    "first element of the path must be 'template'",
		"templates":               "at path position 'template' invalid path element 's'",
		"template.spec.x":         "at path position 'template.spec' missing field 'x'",
		"template.spec.a[0]":      "at path position 'template.spec.a' found non-array value",
		"template.spec.a.b[2]":    "at path position 'template.spec.a.b' out of bounds index '2'",
		"template.spec.a.b[-1]":   "at path position 'template.spec.a.b' out of bounds index '-1'",
		"template.spec.a.b[x]":    "at path position 'template.spec.a.b' invalid index expression 'x'",
		"template.spec.a.b[0":     "at path position 'template.spec.a.b' invalid path element '[0'",
		"template.spec.a.b.c":     "at path position 'template.spec.a.b' non-map value",
		"template.spec.a.b[0]c":   "at path position 'template.spec.a.b[0]' invalid path element 'c'",
		"template.spec.a.b[0].c.": "at path position 'template.spec.a.b[0].c' non-map value",
	} {
		value, err := Lookup(o, path)
		got := fmt.Sprint(value)
		if _, isMap := value.(map[string]any); isMap {
			got = "map"
		}
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
}

func TestCheck(t *testing.T) {
	set := func(path string, n int32) v1beta2.AppWrapperPodSet {
		return v1beta2.AppWrapperPodSet{Path: path, Replicas: &n}
	}
	list := func(s ...v1beta2.AppWrapperPodSet) []v1beta2.AppWrapperPodSet { return s }
	for name, tc := range map[string]struct {
		declared, inferred []v1beta2.AppWrapperPodSet
		want               string
	}{
		"nothing declared":              {inferred: list(set("a", 1))},
		"nothing inferred":              {declared: list(set("a", 1))},
		"the same in a different order": {declared: list(set("b", 2), set("a", 1)), inferred: list(set("a", 1), set("b", 2))},
		"one replica by default":        {declared: list(v1beta2.AppWrapperPodSet{Path: "a"}), inferred: list(set("a", 1))},
		"a duplicate path":              {declared: list(set("a", 1), set("a", 1)), want: "multiple DeclaredPodSets with path 'a'"},
		"a different number of sets":    {declared: list(set("a", 1)), inferred: list(set("a", 1), set("b", 1)), want: "DeclaredPodSet count 1 differs from inferred count 2"},
		"a different path":              {declared: list(set("b", 1)), inferred: list(set("a", 1)), want: "PodSet with path 'a' is missing"},
		"a different count":             {declared: list(set("a", 2)), inferred: list(set("a", 1)), want: "replica count 2 differs from inferred count 1 for PodSet at path position 'a'"},
		"zero is not the default":       {declared: list(set("a", 0)), inferred: list(set("a", 1)), want: "replica count 0 differs"},
		"zero is inferred":              {declared: list(set("a", 0)), inferred: list(set("a", 0))},
		"one set more than inferred":    {declared: list(set("a", 1), set("b", 1)), inferred: list(set("a", 1)), want: "count 2 differs from inferred count 1"},
	} {
		t.Run(name, func(t *testing.T) {
			err := Check(tc.declared, tc.inferred)
			if got := fmt.Sprint(err); (err == nil) != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("got %s, want %q", got, tc.want)
			}
		})
	}
}

// B-21: a field from a newer Kubernetes version is distinguished from a template that cannot be read.
func TestB21UnknownFields(t *testing.T) {
	o := object(t, `{apiVersion: v1, kind: Pod, spec: {newerThanThis: true, containers: [{name: a, image: b}]}}`)
	got, unknown, err := Template(o.Object, "template")
	if err != nil || len(got.Containers) != 1 {
		t.Fatalf("%v %v", got, err)
	}
	if unknown == nil || !strings.Contains(unknown.Error(), "newerThanThis") {
		t.Errorf("got %v", unknown)
	}
}

// FuzzLookup checks that no path causes a panic, and that repeating a lookup returns the same result.
func FuzzLookup(f *testing.F) {
	for _, path := range []string{"template", "template.spec.a.b[1].c", "template[", "template..", "template.spec.a.b[0][0]", "template.[0]"} {
		f.Add(path)
	}
	o := object(f, `{kind: A, spec: {a: {b: [{c: 1}, [2]]}}}`).Object
	f.Fuzz(func(t *testing.T, path string) {
		first, err := Lookup(o, path)
		second, again := Lookup(o, path)
		if (err == nil) != (again == nil) || !cmp.Equal(first, second) {
			t.Errorf("%v %v, then %v %v", first, err, second, again)
		}
	})
}
