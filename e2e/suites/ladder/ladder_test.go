//go:build e2e && e2e_all

package ladder

import (
	"context"
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/e2e/framework"
)

// TestTheLadder causes one fault after the other in one workload. Each must be handled only at the cheapest recovery
// level that can handle it.
func TestTheLadder(t *testing.T) {
	r := begins(t, settings{restarts: budget, resets: 2})
	stop := r.watchQuota()
	steps := []struct {
		name string
		step func(*run)
	}{
		{"1: a process exits", (*run).processExits},
		{"1: the first process of a container is killed", (*run).containerDies},
		{"1: a pod is deleted", (*run).podDeleted},
		{"4: a node is drained", (*run).nodeDrained},
		{"5: a restart times out", (*run).restartTimesOut},
		{"6: the restarts are used up", (*run).restartsUsedUp},
		{"6: a node is marked EVICT", (*run).nodeEvicted},
		{"all resets are used up", (*run).resetsUsedUp},
	}
	for _, s := range steps {
		t.Log(s.name)
		s.step(r)
		if t.Failed() {
			break
		}
	}
	stop()
	r.show(r.ctx)
	// Four restarts in place, and a fifth that times out and is followed by a recreation. The restarts of the two
	// JobSets that had to use up their budget. Two resets, and the evacuation between them. The drain is one in-place
	// restart on other nodes.
	r.wantLevels()
	r.draw()
}

func (r *run) step(s standing, charged, epochs int64) string {
	s.charged += charged
	s.epoch += epochs
	return s.counts()
}

func (r *run) signal(w framework.Worker, s unix.Signal) {
	r.Helper()
	r.must(framework.Until(r.ctx, "the worker can be signalled", func(ctx context.Context) error { // the worker's supervisor may be about to start it
		_, err := r.Signal(ctx, w, s)
		return err
	}))
}

func (r *run) wantKept(before, after standing, pods, containers int) {
	r.Helper()
	r.must(framework.Until(r.ctx, fmt.Sprintf("%d pods and %d containers are unchanged", pods, containers), func(ctx context.Context) error {
		now, err := r.stands(ctx) // the kubelet may report the new container later than the worker
		if p, c := now.kept(before); err == nil && (p != pods || c != containers) {
			err = fmt.Errorf("%d pods and %d containers are unchanged", p, c)
		}
		return err
	}))
	if after.jobSet != before.jobSet {
		r.Error("the JobSet was recreated")
	}
}

func (r *run) processExits() {
	before := r.awaitReady()
	r.signal(before.worker(3), unix.SIGUSR1)
	r.wantKept(before, r.awaitCounts(r.step(before, 1, 0)), workers, workers)
}

// The kubelet restarts the container; the other workers restart in theirs.
func (r *run) containerDies() {
	before := r.awaitReady()
	_, err := r.SignalContainer(r.ctx, before.worker(2).PodUID, "worker", unix.SIGKILL)
	r.must(err)
	r.wantKept(before, r.awaitCounts(r.step(before, 1, 0)), workers, workers-1)
}

func (r *run) podDeleted() {
	before := r.awaitReady()
	_, err := r.DeletePod(r.ctx, before.worker(5))
	r.must(err)
	r.wantKept(before, r.awaitCounts(r.step(before, 1, 0)), workers-1, workers-1)
}

// The drained node's pods are replaced on the other node, and the group restarts once.
func (r *run) nodeDrained() {
	before := r.awaitReady()
	drained := r.nodeOf(before.worker(0))
	r.cordon(drained, true)
	lost := 0
	for _, w := range before.workers {
		if r.nodeOf(w) != drained {
			continue
		}
		lost++
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: r.ns, Name: w.Pod}}
		r.must(k8s.SubResource("eviction").Create(r.ctx, pod, &policyv1.Eviction{}))
	}
	after := r.awaitCounts(r.step(before, 1, 0))
	r.wantKept(before, after, workers-lost, workers-lost)
	for id, w := range after.workers {
		if r.nodeOf(w) == drained {
			r.Errorf("worker %s is on the drained node", id)
		}
	}
	r.cordon(drained, false)
}

func (r *run) cordon(node string, to bool) {
	r.Helper()
	r.patchNode(node, func(n *corev1.Node) { n.Spec.Unschedulable = to })
}

func (r *run) patchNode(name string, change func(*corev1.Node)) {
	r.Helper()
	r.must(changeNode(r.ctx, name, change))
}

// More than half of the supervisors hang, so that replacing single workers cannot help.
func (r *run) restartTimesOut() {
	before := r.awaitReady()
	for n := range workers/2 + 1 {
		_, err := r.SignalContainer(r.ctx, before.worker(n).PodUID, "worker", unix.SIGSTOP)
		r.must(err)
	}
	r.signal(before.worker(workers-1), unix.SIGUSR1)
	after := r.awaitCounts(r.step(before, 2, 1)) // the restart, and the recreation after it
	r.wantKept(before, after, 0, 0)
}

// wearOut makes the JobSet restart until its budget is used up, and fail once more. It uses SIGKILL, because a worker
// that has just started may miss any other signal.
func (r *run) wearOut() standing {
	r.Helper()
	s := r.awaitReady()
	for s.charged < budget {
		r.signal(s.worker(0), unix.SIGKILL)
		s = r.awaitCounts(r.step(s, 1, 0))
	}
	r.signal(s.worker(0), unix.SIGKILL)
	return s
}

func (r *run) restartsUsedUp() {
	before := r.wearOut()
	want := before
	want.resets, want.charged, want.epoch = want.resets+1, 0, 1
	if after := r.awaitCounts(want.counts()); after.jobSet == before.jobSet {
		r.Error("the JobSet was not recreated")
	}
}

func (r *run) nodeEvicted() {
	before := r.awaitReady()
	bad := r.nodeOf(before.worker(0))
	r.patchNode(bad, func(n *corev1.Node) { n.Labels[health] = "EVICT" })
	defer r.patchNode(bad, func(n *corev1.Node) { delete(n.Labels, health) })
	want := before
	want.evacuations, want.charged, want.epoch = want.evacuations+1, 0, 1
	for id, w := range r.awaitCounts(want.counts()).workers {
		if r.nodeOf(w) == bad {
			r.Errorf("worker %s is on the bad node", id)
		}
	}
}

func (r *run) resetsUsedUp() {
	before := r.wearOut()
	want := before
	want.resets, want.charged, want.epoch = want.resets+1, 0, 1
	r.awaitCounts(want.counts())
	r.mu.Lock()
	r.over = true // from here on the workload may fail at any time
	r.mu.Unlock()
	r.wearOut()
	r.must(framework.Until(r.ctx, "the workload has failed and the quota is free", func(ctx context.Context) error {
		aw := r.get()
		held, err := r.quotaHeld(ctx)
		if err == nil && (held || aw.Status.Phase != v1beta2.Failed) {
			err = fmt.Errorf("it is %s, quota held %t", aw.Status.Phase, held)
		}
		return err
	}))
	r.must(framework.Until(r.ctx, "no JobSet and no pod is left", func(ctx context.Context) error {
		if _, err := r.JobSet(ctx, r.ns, name); client.IgnoreNotFound(err) != nil || err == nil {
			return fmt.Errorf("the JobSet still exists: %v", err)
		}
		pods, err := r.Pods(ctx, r.ns, name)
		if err == nil && len(pods) > 0 {
			err = fmt.Errorf("%d pods still exist", len(pods))
		}
		return err
	}))
}

// wantLevels checks that the timeline shows what happened.
func (r *run) wantLevels() {
	r.Helper()
	if r.Failed() {
		return
	}
	// The first JobSet had 4 restarts and 1 that timed out, the others `budget` each. There was one recreation, two
	// resets and an evacuation.
	r.wantAnswers(map[int]int{1: 5 + 2*budget, 5: 1, 6: 3})
}
