package policy

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/shared/restart"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// world is a job and its pods, without a cluster.
type world struct {
	facts Facts
	uid   int
	last  *Decision
	said  []string
}

func newWorld(minimum, wanted, maximum int, changes ...func(*Settings)) *world {
	spec := &v1alpha1.ElasticJob{Spec: v1alpha1.ElasticJobSpec{
		MinReplicas: ptr.To(int32(minimum)), MaxReplicas: ptr.To(int32(maximum)),
		ReplicaSpecs: v1alpha1.ReplicaSpecs{Worker: v1alpha1.ReplicaSpec{Replicas: ptr.To(int32(wanted))}},
	}}
	w := &world{facts: Facts{Now: noon, Namespace: "default", Name: "a", Settings: Read(spec), Pods: map[int]Pod{}}}
	for _, change := range changes {
		change(&w.facts.Settings)
	}
	return w
}

// look makes one decision and carries it out as the controller would, writing the memory first. Pods that have terminated, and those that
// are force-deleted, are removed immediately. Other deleted pods stay Terminating.
func (w *world) look() *Decision {
	d := Decide(&w.facts)
	w.last = d
	recalled, err := ReadMemory(d.Status)
	if err != nil {
		panic(err)
	}
	w.facts.Memory, w.facts.Status = recalled, *d.Status
	for _, e := range d.Events {
		w.said = append(w.said, e.Reason+": "+e.Note)
	}
	for _, gone := range d.Delete {
		pod, there := w.facts.Pods[gone.Index]
		if !there || pod.UID != gone.UID {
			panic(fmt.Sprintf("deletion of a pod that does not exist: %+v", gone))
		}
		if pod.terminated() || gone.Force {
			delete(w.facts.Pods, gone.Index)
		} else {
			pod.Terminating = true
			w.facts.Pods[gone.Index] = pod
		}
	}
	for _, i := range d.Create {
		if _, there := w.facts.Pods[i]; there {
			panic(fmt.Sprintf("creation of pod %d, which exists", i))
		}
		w.uid++
		w.facts.Pods[i] = Pod{UID: types.UID(fmt.Sprint("u", w.uid)), Created: w.facts.Now}
	}
	return d
}

// play makes decisions until nothing changes. Terminating pods are removed, and created pods start running.
func (w *world) play() *world {
	for range 50 {
		d := w.look()
		busy := len(d.Create)+len(d.Delete) > 0
		for _, i := range (&decider{Facts: &w.facts}).podIndexes() {
			switch pod := w.facts.Pods[i]; {
			case pod.Terminating && pod.Node != NodeLost:
				delete(w.facts.Pods, i)
				busy = true
			case pod.pending() && !pod.Bound && w.facts.Memory.Indexes.Has(i):
				w.run(i)
				busy = true
			}
		}
		if !busy {
			return w
		}
	}
	panic("the job keeps changing")
}

func (w *world) change(i int, change func(*Pod)) *world {
	pod, there := w.facts.Pods[i]
	if !there {
		panic(fmt.Sprintf("there is no pod %d", i))
	}
	change(&pod)
	w.facts.Pods[i] = pod
	return w
}

func (w *world) run(i int) *world {
	return w.change(i, func(p *Pod) { p.Phase, p.Bound, p.Ready = corev1.PodRunning, true, true })
}

func (w *world) fail(i int, code int32) *world {
	return w.change(i, func(p *Pod) { p.Phase, p.Ready, p.ExitCode = corev1.PodFailed, false, code })
}

func (w *world) complete(i int) *world {
	return w.change(i, func(p *Pod) { p.Phase, p.Ready = corev1.PodSucceeded, false })
}

func (w *world) evict(i int) *world {
	return w.change(i, func(p *Pod) {
		p.Phase, p.Ready, p.Disruption, p.ExitCode = corev1.PodFailed, false, "it was evicted", 1
	})
}

func (w *world) pass(d time.Duration) *world {
	w.facts.Now = w.facts.Now.Add(d)
	return w
}

// workers returns the running workers, such as "0,2-3".
func (w *world) workers() string {
	var running []int
	for i, pod := range w.facts.Pods {
		if pod.running() {
			running = append(running, i)
		}
	}
	slices.Sort(running)
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(running), " ", ","), "[]")
}

func (w *world) want(t *testing.T, workers string, state v1alpha1.State) {
	t.Helper()
	if got := w.workers(); got != workers || w.last.Status.State != state {
		t.Errorf("workers %s, want %s; state %s, want %s (%s)\n%s", got, workers, w.last.Status.State, state, w.last.Status.Message, strings.Join(w.said, "\n"))
	}
}

func (w *world) heard(t *testing.T, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !slices.ContainsFunc(w.said, func(s string) bool { return strings.Contains(s, part) }) {
			t.Errorf("no event contains %q:\n%s", part, strings.Join(w.said, "\n"))
		}
	}
}

func TestFailedAndDisruptedWorkersAreReplaced(t *testing.T) {
	for name, tc := range map[string]struct {
		restart           v1alpha1.RestartPolicy
		end               func(*Pod)
		failed, disrupted int32
	}{
		"its program failed":               {v1alpha1.RestartExitCode, func(p *Pod) { p.Phase, p.ExitCode = corev1.PodFailed, 1 }, 1, 0},
		"it was evicted":                   {v1alpha1.RestartExitCode, func(p *Pod) { p.Phase, p.ExitCode, p.Disruption = corev1.PodFailed, 1, "it was evicted" }, 0, 1},
		"it was deleted":                   {v1alpha1.RestartExitCode, func(p *Pod) { p.Terminating = true }, 0, 1},
		"it was stopped and exited with 0": {v1alpha1.RestartExitCode, func(p *Pod) { p.Terminating, p.Phase = true, corev1.PodSucceeded }, 0, 1},
		"its node is lost":                 {v1alpha1.RestartExitCode, func(p *Pod) { p.Node = NodeLost }, 0, 1},
		"deleted on a lost node":           {v1alpha1.RestartExitCode, func(p *Pod) { p.Node, p.Terminating = NodeLost, true }, 0, 1},
		"evicted with policy Never":        {v1alpha1.RestartNever, func(p *Pod) { p.Phase, p.Disruption = corev1.PodFailed, "it was evicted" }, 0, 1},
		"failed with policy OnFailure":     {v1alpha1.RestartOnFailure, func(p *Pod) { p.Phase, p.ExitCode = corev1.PodFailed, -1 }, 0, 1},
		"its containers keep failing, then its node is shut down": {
			v1alpha1.RestartOnFailure, func(p *Pod) { p.Phase, p.Restarts, p.Disruption = corev1.PodFailed, 2, "its node was shut down" }, 2, 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(2, 3, 5, func(s *Settings) { s.Restart = tc.restart }).play()
			before := w.facts.Pods[1].UID
			w.change(1, tc.end).play().pass(time.Minute).play()
			w.want(t, "0,1,2", v1alpha1.StateRunning)
			if w.facts.Pods[1].UID == before {
				t.Error("the pod was not replaced")
			}
			h, s := w.facts.Memory.Workers[1], w.facts.Status
			if h.Failures != tc.failed || h.Disruptions != tc.disrupted || s.Restarts != tc.failed || s.Disruptions != tc.disrupted {
				t.Errorf("counted %+v, in total %d and %d", h, s.Restarts, s.Disruptions)
			}
		})
	}
}

func TestEachPodIsCountedOnce(t *testing.T) {
	w := newWorld(1, 2, 2).play().fail(1, 1)
	first := w.look()
	if len(first.Faults) != 1 || len(first.Delete) != 1 {
		t.Fatalf("%d faults, %d deletions", len(first.Faults), len(first.Delete))
	}
	// The deletion was lost in a crash, so the pod still exists.
	w.facts.Pods[1] = Pod{UID: w.facts.Memory.Workers[1].LastPod, Phase: corev1.PodFailed, ExitCode: 1}
	second := w.look()
	if len(second.Faults) != 0 || len(second.Delete) != 1 || w.facts.Memory.Workers[1].Failures != 1 {
		t.Errorf("second decision: %d faults, %d deletions, %+v", len(second.Faults), len(second.Delete), w.facts.Memory.Workers[1])
	}
}

func TestExampleOfTheSeed(t *testing.T) {
	// Two of three workers keep failing. At least two are required.
	w := newWorld(2, 3, 5, func(s *Settings) { s.Settle = 0 }).play()
	for range 4 {
		w.fail(0, 1).fail(1, 1)
		for range 20 {
			w.play().pass(time.Second)
		}
	}
	w.want(t, "2", v1alpha1.StateFailed)
	w.heard(t,
		"ExitedWithCode: Pod: default.a-worker-0 exited with code 1",
		"ElasticJobRestarting: ElasticJob a is restarting because 2 Worker replica(s) failed.",
		"ElasticJobFailed: ElasticJob a is failed because 2 Worker replica(s) failed.")
	if c := w.last.Status.ReplicaStatuses.Worker; c.Active != 1 || c.Failed != 2 {
		t.Errorf("counts %+v", c)
	}
	messages := map[v1alpha1.JobConditionType]string{}
	for _, c := range w.last.Status.Conditions {
		messages[c.Type] = fmt.Sprintf("%s %s %s", c.Status, c.Reason, c.Message)
	}
	for kind, want := range map[v1alpha1.JobConditionType]string{
		v1alpha1.JobCreated: "True ElasticJobCreated job a is created.",
		v1alpha1.JobRunning: "False ElasticJobRunning ElasticJob a is running.",
		v1alpha1.JobFailed:  "True ElasticJobFailed ElasticJob a is failed because 2 workers replica(s) failed.",
	} {
		if messages[kind] != want {
			t.Errorf("%s: %q, want %q", kind, messages[kind], want)
		}
	}
}

func TestWorkersAreAbandonedAtTheirLimits(t *testing.T) {
	budget := func(n restart.Budget) func(*Settings) { return func(s *Settings) { s.Backoff = new(n) } }
	for name, tc := range map[string]struct {
		change func(*Settings)
		end    func(*world)
		reason string
	}{
		"after the last restart of the back-off limit": {budget(0), func(w *world) { w.fail(1, 1) }, "exited with code 1"},
		"after a permanent exit code":                  {func(s *Settings) { s.Permanent = []int32{3} }, func(w *world) { w.fail(1, 3) }, "exited with code 3"},
		"with restart policy Never":                    {func(s *Settings) { s.Restart = v1alpha1.RestartNever }, func(w *world) { w.fail(1, 9) }, "exited with code 9"},
		"after the last disruption of the limit":       {func(s *Settings) { s.Disruptions = new(restart.Budget(0)) }, func(w *world) { w.evict(1) }, "it was evicted"},
		"when its containers fail too often": {
			func(s *Settings) { s.Restart = v1alpha1.RestartOnFailure },
			func(w *world) { w.change(1, func(p *Pod) { p.Restarts = 4 }) }, "its containers have failed 4 times",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(2, 3, 3, tc.change).play()
			tc.end(w)
			w.play()
			w.want(t, "0,2", v1alpha1.StateRunning)
			w.heard(t, "WorkerAbandoned: Pod: a-worker-1 will not be replaced: "+tc.reason)
			if w.last.Status.FailedIndexes != "1" {
				t.Errorf("abandoned: %s", w.last.Status.FailedIndexes)
			}
		})
	}
}

func TestRaisedLimitReplacesAbandonedWorker(t *testing.T) {
	w := newWorld(1, 2, 2, func(s *Settings) { s.Backoff = new(restart.Budget(0)) }).play().fail(1, 1).play()
	w.want(t, "0", v1alpha1.StateRunning)
	w.facts.Settings.Backoff = new(restart.Budget(1))
	w.play()
	w.want(t, "0,1", v1alpha1.StateRunning)
}

func TestPodOfAbandonedWorkerIsKept(t *testing.T) {
	w := newWorld(1, 2, 2, func(s *Settings) { s.Restart = v1alpha1.RestartNever }).play().fail(1, 1).play()
	if pod, there := w.facts.Pods[1]; !there || pod.Phase != corev1.PodFailed {
		t.Errorf("pod %+v, found %t", pod, there)
	}
}

func TestJobFailsAfterSettleSeconds(t *testing.T) {
	w := newWorld(2, 3, 5, func(s *Settings) { s.Restart = v1alpha1.RestartNever }).play().fail(0, 1).play()
	w.want(t, "1,2", v1alpha1.StateRunning)
	w.fail(1, 1).look()
	w.want(t, "2", v1alpha1.StatePending)
	w.heard(t, "TooFewWorkers: Only 1 workers can run and at least 2 are required: the job fails in 30s")
	if w.last.After != 30*time.Second {
		t.Errorf("next reconcile after %s", w.last.After)
	}
	w.pass(29 * time.Second).look()
	w.want(t, "2", v1alpha1.StatePending)
	w.pass(time.Second).look()
	w.want(t, "2", v1alpha1.StateFailed)
}

// Here the minimum is met, but no worker can run.
func TestJobWithoutAnyWorkerThatCanRunSaysSo(t *testing.T) {
	w := newWorld(2, 4, 4, func(s *Settings) {
		s.Restart, s.Success = v1alpha1.RestartNever, v1alpha1.SuccessPolicy{Type: v1alpha1.SuccessPercent, Percent: ptr.To(int32(75))}
	}).play().fail(0, 1).fail(1, 1).complete(2).complete(3)
	w.look()
	w.heard(t, "TooFewWorkers: 2 of 4 workers have completed, which is not enough for success, and no other can run: the job fails in 30s")
}

func TestMoreReplicasWithinSettleSecondsSaveTheJob(t *testing.T) {
	w := newWorld(2, 2, 5, func(s *Settings) { s.Restart = v1alpha1.RestartNever }).play().fail(0, 1).play()
	w.facts.Settings.Wanted = 3
	w.pass(10 * time.Second).play()
	w.want(t, "1,2", v1alpha1.StateRunning)
	if w.pass(time.Hour).play(); !w.facts.Memory.BelowMin.IsZero() {
		t.Error("BelowMin is still set")
	}
}

func TestPendingWorkersDoNotFailTheJob(t *testing.T) {
	w := newWorld(3, 3, 3)
	w.look()
	w.pass(24 * time.Hour).look()
	w.want(t, "", v1alpha1.StatePending)
	if !strings.Contains(w.last.Status.Message, "0 of 3 workers are running: 3 waiting for a node") {
		t.Error(w.last.Status.Message)
	}
}

func TestReplacementsOfAFailingProgramAreDelayed(t *testing.T) {
	w := newWorld(1, 1, 1, func(s *Settings) { s.Backoff = new(restart.Budget(100)) }).play()
	var waits []time.Duration
	for range 9 {
		w.fail(0, 1).look()
		var waited time.Duration
		for w.look(); len(w.last.Create) == 0; w.look() {
			waited += w.last.After
			w.pass(w.last.After)
		}
		w.run(0)
		waits = append(waits, waited)
	}
	want := []time.Duration{0, 1, 2, 4, 8, 16, 32, 60, 60}
	for i := range want {
		if want[i] *= time.Second; waits[i] != want[i] {
			t.Errorf("failure %d: waited %s, want %s", i+1, waits[i], want[i])
		}
	}
}

// A kubelet may reject a pod within milliseconds, and the scheduler may select the same node again. Without a delay, pods would be
// recreated in a tight loop.
func TestReplacementsAreDelayedAfterRejections(t *testing.T) {
	w := newWorld(1, 2, 2).play()
	var waits []time.Duration
	for range 5 {
		w.change(0, func(p *Pod) { p.Phase, p.Ready, p.ExitCode, p.Disruption = corev1.PodFailed, false, -1, reasonRejected }).look()
		var waited time.Duration
		for w.look(); len(w.last.Create) == 0; w.look() {
			waited += w.last.After
			w.pass(w.last.After)
		}
		waits = append(waits, waited)
	}
	if want := []time.Duration{0, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second}; !slices.Equal(waits, want) {
		t.Errorf("waited %v, want %v", waits, want)
	}
	if h := w.facts.Memory.Workers[0]; h.Failures != 0 || h.Disruptions != 5 {
		t.Errorf("counted as %+v", h)
	}
}

func TestExceedingOwnLimitsIsAFailure(t *testing.T) {
	for _, restart := range []v1alpha1.RestartPolicy{v1alpha1.RestartExitCode, v1alpha1.RestartOnFailure} {
		w := newWorld(1, 2, 2, func(s *Settings) { s.Restart = restart }).play()
		w.change(0, func(p *Pod) { p.Phase, p.Ready, p.ExitCode, p.ExceededLimits = corev1.PodFailed, false, 137, true }).look()
		if h := w.facts.Memory.Workers[0]; h.Failures != 1 || h.Disruptions != 0 || h.LastReason != "it exceeded its own limits" {
			t.Errorf("%s: counted as %+v", restart, h)
		}
	}
}

func TestFalseConditionsAreNotAdded(t *testing.T) {
	for kind, added := range map[v1alpha1.JobConditionType]bool{v1alpha1.JobRestarting: false, v1alpha1.JobInPlaceInSync: true} {
		d := &decider{Facts: &Facts{Now: noon}, out: &Decision{Status: &v1alpha1.ElasticJobStatus{}}}
		d.setCondition(kind, false, "", "")
		if (len(d.out.Status.Conditions) == 1) != added {
			t.Errorf("%s: %+v", kind, d.out.Status.Conditions)
		}
	}
}
