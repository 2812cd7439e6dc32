//go:build envtest

package inprocess

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
)

const inPlace = "profile.yaml"

func TestPodsAvoidExcludedNodes(t *testing.T) {
	w := newWorld(t)
	w.node("bad", "32", "large")
	w.node("good", "4")
	for i := range 4 {
		w.pod(fmt.Sprintf("moved-%d", i), staysAwayFrom("bad", "gone"))
	}
	w.pod("other", onlyOn("large"))
	w.scheduler(inPlace)
	for i := range 4 {
		w.lands(fmt.Sprintf("moved-%d", i), "good")
	}
	w.lands("other", "bad")
}

// The scheduler tries a nominated node first, using only the filters. It ignores the result of PreFilter.
func TestNominatedNodeRespectsExclusions(t *testing.T) {
	w := newWorld(t)
	w.node("bad", "32")
	w.node("good", "4")
	w.pod("nominated", staysAwayFrom("bad"), gated)
	w.nominate("nominated", "bad")
	w.pod("free", gated)
	w.nominate("free", "bad")
	w.scheduler(inPlace)
	w.ungate("nominated")
	w.lands("nominated", "good")
	// This checks that nominations have an effect: otherwise the emptier of two nodes would be chosen.
	w.pod("fills", wants("30"), runsOn("bad"))
	w.ungate("free")
	w.lands("free", "bad")
}

func gated(pod *corev1.Pod) {
	pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "holdfast.dev/test"}}
}

func (w *world) nominate(pod, node string) {
	w.Helper()
	patch := fmt.Sprintf(`{"status":{"nominatedNodeName":%q}}`, node)
	_, err := w.CoreV1().Pods(namespace).Patch(w.Context(), pod, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
	w.ok(err)
}

func (w *world) ungate(pod string) {
	w.Helper()
	_, err := w.CoreV1().Pods(namespace).Patch(w.Context(), pod, types.MergePatchType, []byte(`{"spec":{"schedulingGates":null}}`), metav1.PatchOptions{})
	w.ok(err)
}

func TestExclusionOfAllNodesIsIgnored(t *testing.T) {
	w := newWorld(t)
	w.node("a", "4")
	w.node("b", "4", "eligible")
	w.pod("everywhere", staysAwayFrom("a", "b"), onlyOn("eligible"))
	w.scheduler(inPlace)
	w.lands("everywhere", "b")
	w.says("everywhere", "ExclusionsIgnored")
}

func TestInvalidAnnotationExcludesNoNode(t *testing.T) {
	most := 256<<10 - len(memory.HostsAnnotation) // the maximum size for an object
	for name, value := range map[string]string{
		"broken JSON":                  `["bad"`,
		"not a list":                   `{"deployScheduledHosts":["bad"]}`,
		"a name of 256 KiB":            `["` + strings.Repeat("b", most-4) + `"]`,
		"the node thousands of times":  `["bad"` + strings.Repeat(`,"bad"`, (most-7)/6) + `]`,
		"a hundred thousand brackets":  strings.Repeat("[", 100_000),
		"nothing but 256 KiB of space": strings.Repeat(" ", most),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.node("bad", "4")
			w.node("full", "1")
			w.pod("fills", runsOn("full"))
			w.scheduler(inPlace)
			w.pod("unreadable", annotated(value))
			w.lands("unreadable", "bad")
			w.says("unreadable", "ExclusionsIgnored")
		})
	}
}
