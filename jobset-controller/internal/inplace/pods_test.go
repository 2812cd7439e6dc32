package inplace

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

func TestMemberOf(t *testing.T) {
	group := func(leader, index string) map[string]string {
		return map[string]string{v1alpha2.PodGroupKey: leader, v1alpha2.PodGroupIndexKey: index}
	}
	for name, c := range map[string]struct {
		pod    string
		labels map[string]string
		size   string
		want   Member
		why    string
	}{
		"the first":                      {"a-0", map[string]string{v1alpha2.PodGroupKey: "a-0"}, "4", Member{"a-0", 0, 4}, ""},
		"the first, with its index":      {"a-0", group("a-0", "0"), "4", Member{"a-0", 0, 4}, ""},
		"another":                        {"a-3", group("a-0", "3"), "4", Member{"a-0", 3, 4}, ""},
		"one of a StatefulSet":           {"a-3", map[string]string{v1alpha2.PodGroupKey: "a-0", appsv1.PodIndexLabel: "3"}, "4", Member{"a-0", 3, 4}, ""},
		"no size":                        {"a-3", group("a-0", "3"), "", Member{}, "group-size"},
		"a size of 0":                    {"a-3", group("a-0", "3"), "0", Member{}, "group-size"},
		"no index":                       {"a-3", map[string]string{v1alpha2.PodGroupKey: "a-0"}, "4", Member{}, "group-index"},
		"an index beyond the size":       {"a-4", group("a-0", "4"), "4", Member{}, "from 0 to 3"},
		"index 0 on another pod":         {"a-3", group("a-0", "0"), "4", Member{}, "the pod with index 0 is a-0"},
		"another index on the first pod": {"a-0", group("a-0", "3"), "4", Member{}, "the pod with index 0 is a-0"},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: c.pod, Labels: c.labels, Annotations: map[string]string{v1alpha2.PodGroupSizeKey: c.size}}}
			m, declared, err := MemberOf(pod)
			if !declared || m.Leader != "a-0" {
				t.Fatalf("%+v, declared %v", m, declared)
			}
			if c.why == "" && (err != nil || m != c.want) {
				t.Errorf("%+v, %v; want %+v", m, err, c.want)
			}
			if c.why != "" && (err == nil || !strings.Contains(err.Error(), c.why)) {
				t.Errorf("%v does not contain %q", err, c.why)
			}
		})
	}
	if _, declared, err := MemberOf(&corev1.Pod{}); declared || err != nil {
		t.Errorf("a pod without a group: %v, %v", declared, err)
	}
}

// If a condition were not read, each reconcile would write it again.
func TestGroupOfPodsIsReadWithItsConditions(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a-0", Generation: 2, Labels: map[string]string{v1alpha2.PodGroupKey: "a-0"}}}
	pod.Status.Conditions = []corev1.PodCondition{{Type: "InPlaceInSync", Status: corev1.ConditionTrue, Reason: "InSync", Message: "all"}}
	got := OfJob(OfPods(pod)).Status.Conditions
	if len(got) != 1 || got[0].Type != "InPlaceInSync" || got[0].Message != "all" || got[0].ObservedGeneration != 2 {
		t.Errorf("the conditions are %+v", got)
	}
}
