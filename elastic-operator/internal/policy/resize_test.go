package policy

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/indexes"
)

func TestScalingKeepsRemainingPods(t *testing.T) {
	w := newWorld(1, 3, 6).play()
	before := map[int]Pod{}
	for i, pod := range w.facts.Pods {
		before[i] = pod
	}
	w.facts.Settings.Wanted = 5
	w.play().want(t, "0,1,2,3,4", v1alpha1.StateRunning)
	w.facts.Settings.Wanted = 2
	w.play().want(t, "0,1", v1alpha1.StateRunning)
	for i := range 2 {
		if w.facts.Pods[i].UID != before[i].UID {
			t.Errorf("pod %d was replaced", i)
		}
	}
}

// etcd rejects requests of more than 1.5 MiB, and the status is not the only content of the object.
func TestTheStatusOfTheLargestJobFitsIntoARequest(t *testing.T) {
	w := newWorld(1, v1alpha1.MaxWorkers, v1alpha1.MaxWorkers)
	d := w.look()
	if len(d.Memory.Indexes) != v1alpha1.MaxWorkers {
		t.Fatalf("%d workers", len(d.Memory.Indexes))
	}
	for _, i := range d.Memory.Indexes {
		d.Memory.Workers[i] = v1alpha1.WorkerHistory{
			Index: int32(i), Failures: 100, Disruptions: 100, LastPod: "3f0b1c52-7c1e-4b57-9f0e-0d9a3a1f3c11",
			LastReason: "it was disrupted: DeletionByTaintManager", LastTime: toMicro(noon),
		}
	}
	var status v1alpha1.ElasticJobStatus
	d.Memory.Write(&status)
	content, err := json.Marshal(status)
	if err != nil || len(content) > 1200<<10 {
		t.Errorf("%d bytes, %v", len(content), err)
	}
}

func TestRemovalOrder(t *testing.T) {
	for name, tc := range map[string]struct {
		prepare func(*world)
		left    string
	}{
		"the highest index":           {func(*world) {}, "0,1,2"},
		"a pending worker first":      {func(w *world) { w.change(1, func(p *Pod) { p.Phase, p.Ready = corev1.PodPending, false }) }, "0,2,3"},
		"a worker that is not ready":  {func(w *world) { w.change(2, func(p *Pod) { p.Ready = false }) }, "0,1,3"},
		"a worker on a draining node": {func(w *world) { w.change(1, func(p *Pod) { p.Node = NodeDraining }) }, "0,2,3"},
		"not ready before draining": {func(w *world) {
			w.change(1, func(p *Pod) { p.Node = NodeDraining }).change(3, func(p *Pod) { p.Ready = false })
		}, "0,1,2"},
		"a worker on a node tainted by an autoscaler": {func(w *world) {
			node := &corev1.Node{Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "ToBeDeletedByClusterAutoscaler", Effect: corev1.TaintEffectNoSchedule}}}}
			seen := Observe(&corev1.Pod{Spec: corev1.PodSpec{NodeName: "n"}}, node, time.Minute, noon)
			w.change(1, func(p *Pod) { p.Node = seen.Node })
		}, "0,2,3"},
		"worker 0 last, even on a draining node": {func(w *world) { w.change(0, func(p *Pod) { p.Node = NodeDraining }) }, "0,1,2"},
		"worker 0 first if it is not running":    {func(w *world) { w.change(0, func(p *Pod) { p.Phase, p.Bound = corev1.PodPending, true }) }, "1,2,3"},
		"an abandoned worker before all others":  {func(w *world) { w.fail(1, 7).look() }, "0,2,3"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(1, 4, 4, func(s *Settings) { s.Permanent = []int32{7} }).play()
			tc.prepare(w)
			w.facts.Settings.Wanted = 3
			for range 3 {
				w.look()
				for i, pod := range w.facts.Pods {
					if pod.Terminating {
						delete(w.facts.Pods, i)
					}
				}
			}
			if got := w.facts.Memory.Indexes; got.String() != indexes.Of(parse(t, tc.left)...).String() {
				t.Errorf("left %s, want %s", got, tc.left)
			}
		})
	}
}

func parse(t *testing.T, text string) indexes.Set {
	t.Helper()
	s, err := indexes.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The upstream controller kept deleting and creating workers with indexes above the desired number if their pods disappeared at different
// times.
func TestRemovedIndexIsNotCreatedAgain(t *testing.T) {
	w := newWorld(1, 5, 5).play()
	w.facts.Settings.Wanted = 2
	w.look()
	delete(w.facts.Pods, 3) // 2 and 4 take longer to terminate
	if d := w.look(); len(d.Create) != 0 || len(d.Delete) != 0 {
		t.Errorf("created %v, deleted %v", d.Create, d.Delete)
	}
	// Indexes are not compacted: worker 1 is replaced as worker 1.
	w.facts.Settings.Wanted = 4
	w.play().change(1, func(p *Pod) { p.Terminating = true }).play()
	w.want(t, "0,1,2,3", v1alpha1.StateRunning)
}

func TestRevertedScaleDownIsNotADisruption(t *testing.T) {
	w := newWorld(1, 3, 3).play()
	w.facts.Settings.Wanted = 2
	w.look() // 2 is terminating
	w.facts.Settings.Wanted = 3
	w.look()
	w.look() // 2 is still terminating
	w.play()
	if s := w.facts.Status; s.Disruptions != 0 || s.Indexes != "0-2" {
		t.Errorf("disruptions %d, indexes %s", s.Disruptions, s.Indexes)
	}
}

func TestPodsOfAnotherControllerAreAdopted(t *testing.T) {
	w := newWorld(2, 2, 5)
	for i := range 3 {
		w.facts.Pods[i] = Pod{UID: types.UID(fmt.Sprint("old-", i)), Created: noon, Phase: corev1.PodRunning, Bound: true, Ready: i != 1}
	}
	if d := w.look(); len(d.Create) != 0 || len(d.Delete) != 1 || d.Delete[0].Index != 1 {
		t.Errorf("created %v, deleted %+v", d.Create, d.Delete)
	}
}

func TestUnschedulableSurplusWorkersAreRemoved(t *testing.T) {
	w := newWorld(2, 5, 5)
	w.look()
	for i := range 3 {
		w.run(i)
	}
	w.look()
	if w.last.After != 10*time.Minute {
		t.Errorf("next reconcile after %s", w.last.After)
	}
	w.pass(10 * time.Minute).look()
	w.look()
	w.heard(t, "SurplusGivenBack: 2 workers could not be scheduled for 10m0s: continuing with 3 workers instead of 5, retrying in 30m0s")
	if got := w.facts.Memory.Indexes.String(); got != "0-2" {
		t.Errorf("indexes %s", got)
	}
	for i := range w.facts.Pods {
		if w.facts.Pods[i].Terminating {
			delete(w.facts.Pods, i)
		}
	}
	w.pass(29*time.Minute).play().want(t, "0,1,2", v1alpha1.StateRunning)
	w.pass(time.Minute).play().want(t, "0,1,2,3,4", v1alpha1.StateRunning)
}

func TestChangeOfReplicasRestoresRemovedWorkers(t *testing.T) {
	w := newWorld(1, 3, 5)
	w.look()
	w.run(0).pass(10 * time.Minute).look()
	if got := w.facts.Memory.Indexes.String(); got != "0" {
		t.Fatalf("indexes %s", got)
	}
	w.facts.Settings.Wanted = 4
	w.play().want(t, "0,1,2,3", v1alpha1.StateRunning)
}

func TestUnschedulableWorkersOfTheMinimumAreKept(t *testing.T) {
	w := newWorld(3, 5, 5)
	w.look()
	w.pass(24 * time.Hour).look()
	if got := len(w.facts.Memory.Indexes); got != 3 {
		t.Errorf("%d workers are desired", got)
	}
}

func TestUnschedulableSurplusIsKeptIfTheTimeoutIsZero(t *testing.T) {
	w := newWorld(1, 2, 2, func(s *Settings) { s.SurplusPending = 0 })
	w.look()
	w.pass(24 * time.Hour).look()
	if got := len(w.facts.Memory.Indexes); got != 2 || w.last.After != 0 {
		t.Errorf("%d workers are desired, next reconcile after %s", got, w.last.After)
	}
}

// Another worker is waiting for a node. The abandoned worker keeps its index, its pod and its history.
func TestAbandonedWorkersAreNotRemovedAsSurplus(t *testing.T) {
	w := newWorld(2, 4, 4)
	w.look()
	for _, i := range []int{0, 1, 3} {
		w.run(i)
	}
	w.look()
	w.facts.Memory.Workers[3] = v1alpha1.WorkerHistory{Failures: 1, Permanent: true}
	w.pass(10 * time.Minute).look()
	w.look()
	if got := w.facts.Memory.Indexes.String(); got != "0-1,3" || !w.facts.Memory.Workers[3].Permanent {
		t.Errorf("indexes %s, worker 3 %+v", got, w.facts.Memory.Workers[3])
	}
}
