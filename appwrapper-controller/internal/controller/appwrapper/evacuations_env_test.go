//go:build envtest

package appwrapper

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/settings"
	. "github.com/holdfast-project/holdfast/appwrapper-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/testing/sandbox"
)

// After a restart, the controller still counts the evacuation in progress. It does not evacuate another workload
// until the first one is running elsewhere.
func TestTheEvacuationLimitSurvivesRestarts(t *testing.T) {
	w := newWorld(t, func(c *settings.AppWrapper) { c.NodeHealth.MaxSimultaneousEvacuations = 1 })
	node := w.node("bad", nil)
	names := []string{"a", "b", "c", "d"}
	for _, name := range names {
		w.create(MakeAppWrapper(name).GPUJob(name))
		w.onNode(w.job(name), name, node.Name)
		w.awaitCondition(name, "PodsReady=True/SufficientPodsReady")
	}
	node.Labels = map[string]string{autopilot: "EVICT"}
	w.OK(w.Update(w.Context(), node))
	evacuated := func(want string) func() string {
		return func() string {
			var sum int32
			for _, name := range names {
				sum += w.get(name).Status.Evacuations
			}
			return sandbox.Differs("evacuations", want, fmt.Sprint(sum))
		}
	}
	w.Eventually(evacuated("1"))
	for range 3 {
		w.Stop()
		w.start()
		w.Always(evacuated("1"))
	}
	i := slices.IndexFunc(names, func(name string) bool { return w.get(name).Status.Evacuations == 1 })
	moved := names[i]
	w.OK(w.Delete(w.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: moved, Namespace: w.Namespace}}))
	w.awaitPhase(moved, v1beta2.Running)
	w.Always(evacuated("1")) // its pods are not running yet
	w.onNode(w.job(moved), moved+"-again", w.node("good", nil).Name)
	w.Eventually(evacuated("2"))
}
