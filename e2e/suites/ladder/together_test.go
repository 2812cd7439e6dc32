//go:build e2e && e2e_all

package ladder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/shared/timeline"
)

const (
	blamed      = "holdfast.dev/pods-fail-here"
	blamedUntil = blamed + "-until"
)

// TestThreeReasonsToLeaveANodeCauseOneEvacuation marks a node EVICT, makes the rescheduler taint it, and deletes one of the group's pods on it,
// all at the same time.
func TestThreeReasonsToLeaveANodeCauseOneEvacuation(t *testing.T) {
	r := begins(t, settings{restarts: 20, resets: 2, moves: "3"})
	stop := r.watchQuota()
	before := r.awaitReady()
	lost := before.worker(0)
	bad := r.nodeOf(lost)
	seen := r.watchPods()
	defer r.pardon(bad)
	r.must(framework.Each(3, func(i int) error {
		switch i {
		case 0:
			return errors.Join(r.reject(bad, "too-large"), r.reject(bad, "too-large-too"))
		case 1:
			_, err := r.DeletePod(r.ctx, lost)
			return err
		}
		return changeNode(r.ctx, bad, func(n *corev1.Node) { n.Labels[health] = "EVICT" })
	}))
	r.must(framework.Until(r.ctx, "the rescheduler has tainted the node", func(ctx context.Context) error {
		node := &corev1.Node{}
		if err := k8s.Get(ctx, client.ObjectKey{Name: bad}, node); err != nil {
			return err
		}
		if !slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == blamed }) {
			return fmt.Errorf("its taints are %v", node.Spec.Taints)
		}
		return nil
	}))
	want := before
	want.evacuations, want.charged, want.epoch = want.evacuations+1, 0, 1
	after := r.awaitCounts(want.counts())
	r.staysAt(after)
	pods := seen()
	stop()
	r.show(r.ctx)
	r.wantOneMove(before, after, bad, pods)
	if n := r.said(r.ctx, "", moved); n > 0 {
		t.Errorf("the rescheduler has moved %d pods", n)
	}
	if m := memory.Read(r.get().Annotations); m.Times != 0 {
		t.Errorf("moves are counted: %+v", m)
	}
	r.wantOneAnswer()
}

// reject makes the node's kubelet reject a pod that requests more GPUs than the node has, which counts as evidence
// against the node. Each such pod is a workload of its own.
func (r *run) reject(node, name string) error {
	c := corev1.Container{Name: "worker", Image: "localhost/holdfast/worker:dev", ImagePullPolicy: corev1.PullIfNotPresent}
	c.Resources.Limits = corev1.ResourceList{gpu: resource.MustParse("9")}
	return k8s.Create(r.ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: r.ns, Annotations: map[string]string{memory.RetriesAnnotation: "1"}},
		Spec:       corev1.PodSpec{NodeName: node, RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: ptr.To[int64](0), Containers: []corev1.Container{c}},
	})
}

// pardon removes all marks from a node.
func (r *run) pardon(node string) {
	if err := changeNode(context.Background(), node, func(n *corev1.Node) {
		delete(n.Labels, health)
		delete(n.Annotations, blamedUntil)
		n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == blamed })
	}); err != nil {
		r.Error(err)
	}
}

// staysAt checks that nothing changes for a while.
func (r *run) staysAt(s standing) {
	r.Helper()
	for end := time.Now().Add(quiet); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		now, err := r.stands(r.ctx)
		if p, c := now.kept(s); err != nil || now.counts() != s.counts() || p != workers || c != workers {
			r.must(fmt.Errorf("it was %s, and is %s with %d of its pods: %w", s.counts(), now.counts(), p, err))
		}
	}
}

// seen holds pods of the group by UID, as last observed.
type seen map[types.UID]corev1.Pod

// watchPods records the pods of the group until end is called, which returns them. It polls faster than a pod can be
// scheduled and run.
func (r *run) watchPods() (end func() seen) {
	ctx, cancel := context.WithCancel(context.Background())
	pods, done := seen{}, make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			list, err := r.Pods(ctx, r.ns, name)
			for _, pod := range list {
				pods[pod.UID] = pod
			}
			if err != nil && ctx.Err() == nil {
				r.Log("listing the pods failed:", err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	end = func() seen { cancel(); <-done; return pods }
	r.Cleanup(func() { end() }) // a test that has ended must not log
	return end
}

// wantOneMove checks that each slot had one pod before and one after, and possibly one in between for the lost pod.
// None of the new pods may be on the bad node.
func (r *run) wantOneMove(before, after standing, bad string, pods seen) {
	r.Helper()
	known := map[types.UID]bool{}
	for _, w := range before.workers {
		known[types.UID(w.PodUID)] = true
	}
	generations := map[types.UID]int{} // number of pods by the Job that created them
	for uid, pod := range pods {
		generations[metav1.GetControllerOf(&pod).UID]++
		if !known[uid] && pod.Spec.NodeName == bad {
			r.Errorf("pod %s was scheduled to the bad node", pod.Name)
		}
	}
	old, now := before.worker(0).JobUID, after.worker(0).JobUID
	o, n := generations[types.UID(old)], generations[types.UID(now)]
	if len(generations) != 2 || o < workers || o > workers+1 || n != workers {
		r.Errorf("pods by generation are %v, want %d or one more of %s and %d of %s", generations, workers, old, workers, now)
	}
	for id, w := range after.workers {
		if r.nodeOf(w) == bad {
			r.Errorf("worker %s is on the bad node", id)
		}
	}
}

// wantOneAnswer checks that the evacuation is the only recovery. A replacement that had started for the lost pod is
// part of it.
func (r *run) wantOneAnswer() {
	r.Helper()
	count := map[timeline.What]int{}
	for _, e := range r.timeline() {
		if e.Level > 0 {
			count[e.What]++
		}
	}
	begun := count[timeline.InPlace]
	delete(count, timeline.InPlace)
	delete(count, timeline.Repair)
	if begun > 1 || len(count) != 1 || count[timeline.Evacuation] != 1 {
		r.Errorf("the timeline has %d restarts in place, and %v; want one at most, and one evacuation", begun, count)
	}
}
