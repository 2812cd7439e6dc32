//go:build e2e && e2e_all

package nodes

import (
	"context"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/leader/workload"
)

const (
	workers = 8
	first   = "js-workers-0-0" // the slot that the spare takes
)

// withSpare returns a group of eight workers on the first node, and a spare on the second.
func withSpare(t *testing.T) *group {
	t.Helper()
	const namespace = "e2e-spares"
	g, js := load(t, namespace)
	js.Annotations[v1alpha2.SparesKey], js.Annotations[v1alpha2.MaxRestartDelayKey] = "1", "0s"
	js.Annotations[v1alpha2.NodeLostAfterKey] = "10s"
	pod := &js.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec
	pod.TerminationGracePeriodSeconds = ptr.To[int64](1)
	index := &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['" + batchv1.JobCompletionIndexAnnotation + "']"}}
	pod.Containers[0].Env = append(pod.Containers[0].Env,
		corev1.EnvVar{Name: "NODE_RANK", ValueFrom: index}, corev1.EnvVar{Name: "MASTER_ADDR", Value: "js-workers-0-0.js"})
	g.must(g.Remove(g.ctx, namespace, js.Name))
	g.cordon(true)
	g.js = js
	t.Cleanup(g.cleanUp)
	t.Cleanup(func() { g.cordon(false) })
	g.must(g.Client.Create(g.ctx, js))
	g.awaitAll(0)
	g.cordon(false)
	g.must(g.AwaitSpares(g.ctx, g.js, "js-workers-spares-0"))
	return g
}

// cordon makes the second node unschedulable, or schedulable again.
func (g *group) cordon(closed bool) {
	g.Helper()
	g.must(g.Cordon(context.WithoutCancel(g.ctx), doomed, closed))
}

// awaitAll returns the workers once all of them run at the round.
func (g *group) awaitAll(round int64) map[string]framework.Worker {
	g.Helper()
	_, err := g.AwaitPhase(g.ctx, g.js, coordination.Running, 1, round)
	g.must(err)
	all, err := g.AwaitWorkers(g.ctx, g.js.Namespace, g.js.Name, workers)
	g.must(err)
	return all
}

// end deletes a worker's pod. It returns when it deleted the pod, and when the API server first showed that the pod had ended.
func (g *group) end(w framework.Worker) (deleted, ended time.Time) {
	g.Helper()
	deleted, err := g.DeletePod(g.ctx, w)
	g.must(err)
	ended, err = g.AwaitPodEnd(g.ctx, w)
	g.must(err)
	return deleted, ended
}

// expectIdentity checks the environment of the workers in their slots, given the host name of worker 0.
func (g *group) expectIdentity(all map[string]framework.Worker, master string) {
	g.Helper()
	for id, w := range all {
		_, index := workload.JobOf(id)
		for name, want := range map[string]string{
			"NODE_RANK": fmt.Sprint(index), "JOB_COMPLETION_INDEX": fmt.Sprint(index), "JOB_INDEX": "0", "MASTER_ADDR": master + ".js",
		} {
			got, err := g.Variable(g.ctx, w, name)
			g.must(err)
			if got != want {
				g.Errorf("worker %s in %s has %s=%q, want %q", id, w.Pod, name, got, want)
			}
		}
	}
}

func TestASpareTakesTheSlotOfALostPod(t *testing.T) {
	g := withSpare(t)
	all := g.awaitAll(0)
	g.expectIdentity(all, first)

	for round, master := range []string{"js-workers-spares-0", first} { // the second time, the new pod of the slot takes it back
		deleted, ended := g.end(all[first])
		last, err := g.StartsAfter(g.ctx, g.js.Namespace, g.js.Name, workers, deleted)
		g.must(err)
		t.Logf("worker 0 goes to %s: its pod ended %s after its deletion, and all %d workers ran %s later", master,
			ended.Sub(deleted).Round(time.Millisecond), workers, last.Sub(ended).Round(time.Millisecond))
		all = g.awaitAll(int64(round + 1))
		g.expectIdentity(all, master)
		next := map[string]string{"js-workers-spares-0": first, first: "js-workers-spares-0"}[master]
		g.must(g.AwaitSpares(g.ctx, g.js, next))
	}
	if len(g.events("InPlaceSpareUsed")) == 0 {
		t.Error("no event reports that the spare took the slot")
	}

	// A killed worker restarts in place, wherever it runs.
	_, err := g.Signal(g.ctx, all["js-workers-0-3"], unix.SIGKILL)
	g.must(err)
	all = g.awaitAll(3)
	g.expectIdentity(all, first)

	// The pod that replaces the last lost pod cannot be scheduled, and the JobSet completes without it.
	g.must(g.Cordon(g.ctx, 1, true))
	t.Cleanup(func() { g.must(g.Cordon(context.WithoutCancel(g.ctx), 1, false)) })
	g.cordon(true)
	deleted, _ := g.end(all["js-workers-0-3"])
	_, err = g.StartsAfter(g.ctx, g.js.Namespace, g.js.Name, workers, deleted)
	g.must(err)
	all = g.awaitAll(4)
	g.expectIdentity(all, first)
	for _, w := range all {
		_, err := g.Signal(g.ctx, w, unix.SIGUSR2)
		g.must(err)
	}
	g.must(framework.Until(g.ctx, "the JobSet has completed, and so have the spares", func(ctx context.Context) error {
		js, err := g.JobSet(ctx, g.js.Namespace, g.js.Name)
		if err != nil {
			return err
		}
		var spares batchv1.Job
		if err := g.Client.Get(ctx, client.ObjectKey{Namespace: g.js.Namespace, Name: "js-workers-spares"}, &spares); err != nil {
			return err
		}
		if js.Status.TerminalState != string(v1alpha2.JobSetCompleted) || spares.Status.Succeeded != 1 {
			return fmt.Errorf("the JobSet is %q, %d spares have succeeded", js.Status.TerminalState, spares.Status.Succeeded)
		}
		return nil
	}))
}

// moved returns a group and its first worker, which runs in the spare on the second node. The slot's own pod waits on the first node.
func moved(t *testing.T) (*group, framework.Worker) {
	t.Helper()
	g := withSpare(t)
	g.end(g.awaitAll(0)[first])
	all := g.awaitAll(1)
	g.must(g.AwaitSpares(g.ctx, g.js, first))
	return g, all[first]
}

// The spare has taken a slot, and its node loses power. The new pod of the slot takes it back.
func TestTheNodeOfASpareLosesPower(t *testing.T) {
	g, lost := moved(t)
	off := time.Now()
	g.must(g.Cluster.KillNode(g.ctx, doomed))
	g.takesBack(lost, off)
}

// The node of the spare is cut off while its worker keeps running. No other worker gets the slot until there is evidence that the pod has ended.
// When the node returns, the old worker is stopped, and the group keeps running.
func TestTheNodeOfASpareIsCutOff(t *testing.T) {
	g, lost := moved(t)
	program, err := g.Program(g.ctx, lost)
	g.must(err)
	off := time.Now()
	g.must(g.Cluster.CutNode(g.ctx, doomed))
	for end := off.Add(quiet); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		g.must(g.AwaitSpares(g.ctx, g.js, first))
	}
	g.takesBack(lost, off)
	if still, err := g.Program(g.ctx, lost); err != nil || still != program {
		t.Errorf("on the cut node, program %s runs (%v), not %s", still, err, program)
	}

	g.restore(g.ctx)
	g.must(framework.Until(g.ctx, "the worker on the cut node has ended", func(ctx context.Context) error {
		if pid, err := g.Cluster.ContainerPID(ctx, lost.PodUID, lost.Container); err == nil {
			return fmt.Errorf("it is still running as process %d", pid)
		}
		return nil
	}))
	g.expectIdentity(g.awaitAll(2), first)
}

// takesBack checks that the first slot's own pod runs its worker once there is evidence that the lost worker has ended.
func (g *group) takesBack(lost framework.Worker, off time.Time) {
	g.Helper()
	evidence, err := g.AwaitPodEnd(g.ctx, lost)
	g.must(err)
	last, err := g.StartsAfter(g.ctx, g.js.Namespace, g.js.Name, workers, off)
	g.must(err)
	g.Logf("the leader deleted the pod %s after the loss of the node, and all %d workers ran %s later",
		evidence.Sub(off).Round(time.Millisecond), workers, last.Sub(evidence).Round(time.Millisecond))
	g.expectIdentity(g.awaitAll(2), first)
}
