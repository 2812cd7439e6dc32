package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	. "github.com/holdfast-project/holdfast/appwrapper-controller/internal/testing/wrappers"
)

type placement Placement

// For returns the placement for pods that request a GPU, and an empty one for other pods.
func (p placement) For(requests map[corev1.ResourceName]bool) Placement {
	if requests["nvidia.com/gpu"] {
		return Placement(p)
	}
	return Placement{}
}

var autopilot = placement{Must: Avoidance{Labels: map[string][]string{"autopilot.ibm.com/gpuhealth": {"ERR", "EVICT"}}}}

func build(t *testing.T, aw *AppWrapper, o Options) *unstructured.Unstructured {
	t.Helper()
	object, err := Component(aw.Obj(), 0, 1, o)
	if err != nil {
		t.Fatal(err)
	}
	return object
}

func at(t *testing.T, o *unstructured.Unstructured, path ...string) string {
	t.Helper()
	value, _, err := unstructured.NestedFieldNoCopy(o.Object, path...)
	if err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// printed is the affinity that keeps the pods of an AppWrapper away from unhealthy nodes.
const printed = `nodeAffinity:
  requiredDuringSchedulingIgnoredDuringExecution:
    nodeSelectorTerms:
    - matchExpressions:
      - key: autopilot.ibm.com/gpuhealth
        operator: NotIn
        values:
        - ERR
        - EVICT
`

func TestAffinityExcludesUnhealthyNodes(t *testing.T) {
	o := build(t, MakeAppWrapper("a").GPUJob("j"), Options{Placement: autopilot.For})
	if diff := cmp.Diff(printed, at(t, o, "spec", "template", "spec", "affinity")); diff != "" {
		t.Error(diff)
	}
	if o := build(t, MakeAppWrapper("a").Job("j", 1), Options{Placement: autopilot.For}); at(t, o, "spec", "template", "spec", "affinity") != "null\n" {
		t.Error("a pod that requests no GPU has an affinity")
	}
}

func TestAffinityIsMerged(t *testing.T) {
	const object = `{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: a, resources: {limits: {nvidia.com/gpu: 1}}}],
		affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [
			{matchExpressions: [{key: zone, operator: In, values: [a]}]}, {}, {matchFields: [{key: metadata.name, operator: In, values: [node]}]}]}}}}}`
	p := autopilot
	p.Must.Nodes, p.Should.Labels, p.Weight = []string{"bad-2", "bad-1", "bad-2"}, map[string][]string{"health": {"WARN"}}, 50
	got := at(t, build(t, MakeAppWrapper("a").Component(object), Options{Placement: p.For}), "spec", "affinity", "nodeAffinity")
	const want = `preferredDuringSchedulingIgnoredDuringExecution:
- preference:
    matchExpressions:
    - key: health
      operator: NotIn
      values:
      - WARN
  weight: 50
requiredDuringSchedulingIgnoredDuringExecution:
  nodeSelectorTerms:
  - matchExpressions:
    - key: zone
      operator: In
      values:
      - a
    - key: autopilot.ibm.com/gpuhealth
      operator: NotIn
      values:
      - ERR
      - EVICT
    matchFields:
    - key: metadata.name
      operator: NotIn
      values:
      - bad-1
    - key: metadata.name
      operator: NotIn
      values:
      - bad-2
  - {}
  - matchExpressions:
    - key: autopilot.ibm.com/gpuhealth
      operator: NotIn
      values:
      - ERR
      - EVICT
    matchFields:
    - key: metadata.name
      operator: In
      values:
      - node
    - key: metadata.name
      operator: NotIn
      values:
      - bad-1
    - key: metadata.name
      operator: NotIn
      values:
      - bad-2
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestPodSetInfosAreInjected(t *testing.T) {
	info := v1beta2.AppWrapperPodSetInfo{
		Annotations:     map[string]string{"a": "b"},
		Labels:          map[string]string{"c": "d"},
		NodeSelector:    map[string]string{"pool": "x"},
		Tolerations:     []corev1.Toleration{{Key: "t", Operator: corev1.TolerationOpExists}, {Key: "t", Operator: corev1.TolerationOpExists}},
		SchedulingGates: []corev1.PodSchedulingGate{{Name: "g"}, {Name: "g"}},
	}
	aw := MakeAppWrapper("a").Job("j", 1).Change(func(aw *v1beta2.AppWrapper) { aw.Spec.Components[0].PodSetInfos = []v1beta2.AppWrapperPodSetInfo{info} })
	o := build(t, aw, Options{SchedulerName: "ours"})
	const want = `metadata:
  annotations:
    a: b
  labels:
    c: d
    holdfast.dev/appwrapper-component: "0"
    workload.codeflare.dev/appwrapper: a
spec:
  containers:
  - image: worker-image
    name: worker
  nodeSelector:
    pool: x
  restartPolicy: Never
  schedulerName: ours
  schedulingGates:
  - name: g
  tolerations:
  - key: t
    operator: Exists
`
	if diff := cmp.Diff(want, at(t, o, "spec", "template")); diff != "" {
		t.Error(diff)
	}
}

func TestConflictsAreErrors(t *testing.T) {
	job := func(template string) string {
		return `{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: {template: ` + template + `}}`
	}
	for name, tc := range map[string]struct {
		object string
		info   v1beta2.AppWrapperPodSetInfo
		want   string
	}{
		"a label from Kueue": {job(`{metadata: {labels: {c: x}}, spec: {}}`), v1beta2.AppWrapperPodSetInfo{Labels: map[string]string{"c": "d"}}, `conflict updating labels: c is "x", not "d"`},
		"our label":          {job(`{metadata: {labels: {workload.codeflare.dev/appwrapper: x}}, spec: {}}`), v1beta2.AppWrapperPodSetInfo{}, "conflict updating labels"},
		"an annotation":      {job(`{metadata: {annotations: {c: x}}, spec: {}}`), v1beta2.AppWrapperPodSetInfo{Annotations: map[string]string{"c": "d"}}, "conflict updating annotations"},
		"a node selector":    {job(`{spec: {nodeSelector: {c: x}}}`), v1beta2.AppWrapperPodSetInfo{NodeSelector: map[string]string{"c": "d"}}, "conflict updating nodeSelector"},
		"another namespace":  {`{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: other}, spec: {}}`, v1beta2.AppWrapperPodSetInfo{}, "a different namespace"},
		"no kind":            {`{metadata: {name: p}}`, v1beta2.AppWrapperPodSetInfo{}, "missing"},
	} {
		t.Run(name, func(t *testing.T) {
			aw := MakeAppWrapper("a").Component(tc.object).Change(func(aw *v1beta2.AppWrapper) {
				aw.Spec.Components[0].PodSetInfos = []v1beta2.AppWrapperPodSetInfo{tc.info}
			})
			_, err := Component(aw.Obj(), 0, 1, Options{})
			if err == nil || !strings.Contains(err.Error(), tc.want) && !strings.Contains(err.Error(), "Kind") {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestObjectLabels(t *testing.T) {
	o := build(t, MakeAppWrapper("a").Component(`{apiVersion: v1, kind: Service, metadata: {name: s, labels: {workload.codeflare.dev/appwrapper: mine, b: c}}}`), Options{})
	if diff := cmp.Diff(map[string]string{v1beta2.AppWrapperLabel: "mine", "b": "c"}, o.GetLabels()); diff != "" {
		t.Error(diff)
	}
	owner := o.GetOwnerReferences()[0]
	if owner.UID != "a-uid" || !*owner.Controller || owner.APIVersion != "workload.codeflare.dev/v1beta2" {
		t.Errorf("owner %+v", owner)
	}
}

// B-11: a generated name stays the same within an attempt and changes in the next.
func TestB11GeneratedNames(t *testing.T) {
	aw := MakeAppWrapper("a").Component(`{apiVersion: v1, kind: Pod, metadata: {generateName: p-}, spec: {}}`)
	names := map[string]bool{}
	for range 2 {
		for attempt := range int32(3) {
			o, err := Component(aw.Obj(), 0, attempt, Options{})
			if err != nil || !strings.HasPrefix(o.GetName(), "p-") || o.GetGenerateName() != "" {
				t.Fatalf("%v: %v", o, err)
			}
			names[o.GetName()] = true
		}
	}
	if len(names) != 3 {
		t.Errorf("names %v", names)
	}
}
