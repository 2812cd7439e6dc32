package webhook

import (
	"context"
	"encoding/json"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/internal/nodes"
	"github.com/holdfast-project/holdfast/rescheduler/internal/placement"
	"github.com/holdfast-project/holdfast/rescheduler/internal/settings"
)

// nodeList is a cache of nodes.
type nodeList struct {
	client.Reader
	nodes []corev1.Node
}

func (l nodeList) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*corev1.NodeList).Items = l.nodes
	return nil
}

func ready(name string) corev1.Node {
	return corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}
}

func handler(otherwise settings.Mode, all ...corev1.Node) *Handler {
	config := settings.Default()
	config.Enforcement.Otherwise = otherwise
	return &Handler{Nodes: nodes.NewLister(nodeList{nodes: all}, clock.RealClock{}), Config: config, Count: func(string) {}, Leads: func() bool { return true }}
}

// apply applies the patch to the pod as the API server does.
func apply(t *testing.T, h *Handler, pod *corev1.Pod, hosts ...string) *corev1.Pod {
	t.Helper()
	before, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	operations, err := json.Marshal(h.patch(t.Context(), pod, hosts))
	if err != nil {
		t.Fatal(err)
	}
	patch, err := jsonpatch.DecodePatch(operations)
	if err != nil {
		t.Fatal(err)
	}
	after, err := patch.Apply(before)
	if err != nil {
		t.Fatalf("%s: %v", operations, err)
	}
	var patched corev1.Pod
	if err := json.Unmarshal(after, &patched); err != nil {
		t.Fatal(err)
	}
	return &patched
}

// The prototype in the design document replaced all annotations.
func TestOnlyOneAnnotationIsAdded(t *testing.T) {
	for name, annotations := range map[string]map[string]string{
		"no annotations": nil,
		"others":         {"a/b": "c", "d~e": "f"},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: annotations}}
			got := apply(t, handler(settings.Plugin), pod, "bad").Annotations
			want := map[string]string{memory.HostsAnnotation: `["bad"]`}
			for key, value := range annotations {
				want[key] = value
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestExclusionsOfPodAreKept(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{memory.HostsAnnotation: `["own"]`}}}
	if got := apply(t, handler(settings.Plugin), pod, "bad").Annotations[memory.HostsAnnotation]; got != `["bad","own"]` {
		t.Errorf("got %s", got)
	}
	pod.Annotations[memory.HostsAnnotation] = "broken"
	if got := apply(t, handler(settings.Plugin), pod, "bad").Annotations[memory.HostsAnnotation]; got != `["bad"]` {
		t.Errorf("got %s", got)
	}
}

func TestAffinityIsAddedToExistingAffinity(t *testing.T) {
	zone := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: corev1.NodeSelectorOpDoesNotExist}}}
	anti := &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 1}}}
	for name, before := range map[string]*corev1.Affinity{
		"nothing":          nil,
		"pod affinity":     {PodAntiAffinity: anti},
		"empty preference": {NodeAffinity: &corev1.NodeAffinity{}},
		"preference": {PodAntiAffinity: anti, NodeAffinity: &corev1.NodeAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 7, Preference: zone}}}},
		"requirement": {NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{zone}}}},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{Spec: corev1.PodSpec{Affinity: before}}
			bad, good := ready("bad"), ready("good")
			got := apply(t, handler(settings.Required, bad, good), pod, "bad")
			if fits := placement.Fitting(got); fits(&bad) || !fits(&good) {
				t.Errorf("affinity %+v", got.Spec.Affinity)
			}
			if before != nil && before.PodAntiAffinity != nil && got.Spec.Affinity.PodAntiAffinity == nil {
				t.Error("the pod affinity was removed")
			}
			if before != nil && before.NodeAffinity != nil && len(before.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution) > 0 &&
				got.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution[0].Weight != 7 {
				t.Error("the user's preference was removed")
			}
		})
	}
}

// Without another node the pod could not run at all.
func TestAffinityNeverLeavesNoNode(t *testing.T) {
	got := apply(t, handler(settings.Required, ready("bad")), &corev1.Pod{}, "bad")
	if got.Spec.Affinity != nil || got.Annotations[memory.HostsAnnotation] == "" {
		t.Errorf("affinity %+v, annotations %v", got.Spec.Affinity, got.Annotations)
	}
}

func TestPodsOfSchedulerWithPluginGetNoAffinity(t *testing.T) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{SchedulerName: "holdfast-scheduler"}}
	if got := apply(t, handler(settings.Required, ready("bad"), ready("good")), pod, "bad"); got.Spec.Affinity != nil {
		t.Errorf("affinity %+v", got.Spec.Affinity)
	}
}

func TestPodsWithoutAnnotation(t *testing.T) {
	owned := func(kind string) metav1.ObjectMeta {
		return metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Kind: kind, Name: "o", Controller: ptr.To(true)}}}
	}
	for name, pod := range map[string]*corev1.Pod{
		"pod without a controller":   {},
		"pod of a DaemonSet":         {ObjectMeta: owned("DaemonSet")},
		"mirror pod of a static pod": {ObjectMeta: owned("Node")},
		"pod with a node":            {ObjectMeta: owned("ReplicaSet"), Spec: corev1.PodSpec{NodeName: "a"}},
		"pod of kube-system":         {ObjectMeta: func() metav1.ObjectMeta { m := owned("ReplicaSet"); m.Namespace = "kube-system"; return m }()},
		"pod placed by Kueue": {ObjectMeta: func() metav1.ObjectMeta {
			m := owned("Job")
			m.Annotations = map[string]string{"kueue.x-k8s.io/podset-required-topology": "rack"}
			return m
		}()},
	} {
		t.Run(name, func(t *testing.T) {
			if hosts, err := handler(settings.Required).hosts(t.Context(), pod); len(hosts) > 0 || err != nil {
				t.Errorf("excluded %v, error %v", hosts, err)
			}
		})
	}
}
