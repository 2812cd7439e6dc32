//go:build e2e && e2e_all

package ladder

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/shared/coordination"
)

// Reasons of the rescheduler's events about a pod.
const (
	waits = "RecoveringBelow"
	moved = "Rescheduled"
)

// TestAGroupAndTheRescheduler makes a group restart in place while one of its pods shows a failure for which pods are
// moved. Then it makes one slot fail on its node repeatedly.
func TestAGroupAndTheRescheduler(t *testing.T) {
	r := begins(t, settings{restarts: 20, resets: 2, timeout: "5m", moves: "3"})
	stop := r.watchQuota()
	t.Log("1: a pod of a group that restarts is not moved")
	r.restartsWithATroubledPod()
	t.Log("4: a slot leaves the node on which it fails")
	r.slotLeavesItsNode()
	stop()
	r.show(r.ctx)
	if aw := r.get(); aw.Status.Retries+aw.Status.Evacuations != 0 || len(aw.Status.Attempts) != 1 {
		t.Errorf("the AppWrapper has been reset: %+v", aw.Status)
	}
	if n := r.said(r.ctx, "", moved); n > 0 {
		t.Errorf("%d pods were moved", n)
	}
	r.wantAnswers(map[int]int{1: 1 + often + 1, 4: 1})
}

// restartsWithATroubledPod stops a supervisor, so that the restart does not end. Meanwhile another worker's container
// dies repeatedly.
func (r *run) restartsWithATroubledPod() {
	before := r.awaitReady()
	hangs, troubled := before.worker(0), before.worker(3)
	_, err := r.SignalContainer(r.ctx, hangs.PodUID, "worker", unix.SIGSTOP)
	r.must(err)
	r.signal(before.worker(workers-1), unix.SIGUSR1)
	js, err := r.JobSet(r.ctx, r.ns, name)
	r.must(err)
	_, err = r.AwaitPhase(r.ctx, js, coordination.Restarting, before.epoch, before.round+1)
	r.must(err)
	r.must(framework.Until(r.ctx, "the rescheduler postpones the move of a pod", func(ctx context.Context) error {
		if err := r.dies(ctx, troubled); err != nil {
			return err
		}
		if r.said(ctx, troubled.PodUID, waits) == 0 {
			return errors.New("it has not postponed a move")
		}
		return nil
	}))
	_, err = r.SignalContainer(r.ctx, hangs.PodUID, "worker", unix.SIGCONT)
	r.must(err)
	r.wantKept(before, r.awaitCounts(r.step(before, 1, 0)), workers, workers-1)
}

// dies kills a worker's container, and returns once the API server shows that it is running again.
func (r *run) dies(ctx context.Context, w framework.Worker) error {
	now, err := r.Workers(ctx, r.ns, name)
	if err != nil {
		return err
	}
	before := now[w.ID].Restarts
	if _, err := r.SignalContainer(ctx, w.PodUID, "worker", unix.SIGKILL); err != nil {
		return err
	}
	return framework.Until(ctx, "its container runs again", func(ctx context.Context) error {
		now, err := r.Workers(ctx, r.ns, name)
		if again := now[w.ID]; err == nil && (!again.Ready || again.Restarts <= before) {
			err = fmt.Errorf("after %d restarts it is ready: %t", again.Restarts, again.Ready)
		}
		return err
	})
}

// often is the number of restarts of a slot that count as evidence against its node.
const often = 3

func (r *run) slotLeavesItsNode() {
	before := r.awaitReady()
	fails := before.worker(1)
	bad := r.nodeOf(fails)
	s := before
	for range often {
		r.signal(fails, unix.SIGKILL)
		s = r.awaitCounts(r.step(s, 1, 0))
	}
	r.must(framework.Until(r.ctx, "the node is recorded on the workload", func(context.Context) error {
		m := memory.Read(r.get().Annotations)
		if len(m.Entries) != 1 || m.Entries[0].Class != "FailsInPlace" || m.Entries[0].Node != bad || m.Entries[0].Slot == "" || m.Times != 0 {
			return fmt.Errorf("the record is %+v", m)
		}
		return nil
	}))
	r.wantKept(before, s, workers, workers) // the group continues where it is
	_, err := r.DeletePod(r.ctx, fails)
	r.must(err)
	after := r.awaitCounts(r.step(s, 1, 0))
	r.wantKept(before, after, workers-1, workers-1)
	if node := r.nodeOf(after.workers[fails.ID]); node == bad {
		r.Errorf("worker %s is on %s again", fails.ID, bad)
	}
}

// said returns the number of events with a reason about a pod, or about any pod if podUID is empty.
func (r *run) said(ctx context.Context, podUID, reason string) (n int) {
	var list eventsv1.EventList
	if err := k8s.List(ctx, &list, client.InNamespace(r.ns)); err != nil {
		return 0
	}
	for _, e := range list.Items {
		if e.Reason == reason && (podUID == "" || e.Regarding.UID == types.UID(podUID)) {
			n++
		}
	}
	return n
}

// TestAnElasticJobAndTheRescheduler checks that while one worker is being replaced, another one that cannot run on its
// node is not moved. After that it is moved. The AppWrapper around them stays healthy throughout.
func TestAnElasticJobAndTheRescheduler(t *testing.T) {
	r := newRun(t)
	r.create(r.wrapElastic(settings{resets: 2, moves: "3"}, r.elasticJob(v1alpha1.RestartOnFailure, patient)))
	first := r.awaitElastic(elasticWorkers, 0)
	stop := r.watchQuota()

	t.Log("3: a worker is replaced, and no other is moved meanwhile")
	r.must(offerGPUs(r.ctx, 0))
	defer func() { _ = offerGPUs(context.Background(), 8) }()
	r.must(k8s.Delete(r.ctx, r.elasticPod(3)))
	r.awaitElastic(elasticWorkers-1, 0)
	troubled := r.elasticPod(1)
	key := client.ObjectKeyFromObject(troubled)
	r.must(framework.Until(r.ctx, "the rescheduler postpones the move of a pod", func(ctx context.Context) error {
		if r.said(ctx, string(troubled.UID), waits) > 0 {
			return nil
		}
		return errors.Join(errors.New("it has not postponed a move"), r.crash(ctx, key))
	}))
	r.awaitElastic(elasticWorkers-1, 0)
	r.must(offerGPUs(r.ctx, 8))
	r.awaitElastic(elasticWorkers, 0)
	if now := r.elasticPod(1); now.UID != troubled.UID || r.said(r.ctx, "", moved) > 0 {
		t.Error("a worker was moved while another was being replaced")
	}

	t.Log("4: a worker that runs out of memory is moved")
	r.moves(key, troubled)
	if job := r.awaitElastic(elasticWorkers, 0); job.UID != first.UID || job.Status.Disruptions != 2 {
		t.Errorf("the job was recreated, or its disruptions are not the deletion and the move: %+v", job.Status)
	}
	stop()
	r.show(r.ctx)
	r.wantAnswers(map[int]int{3: 2, 4: 1})
}

// crash kills a running worker once more. It does not use memory limits, because a container that exceeds its own limit
// is never moved.
func (r *run) crash(ctx context.Context, pod types.NamespacedName) error {
	now := &corev1.Pod{}
	if err := k8s.Get(ctx, pod, now); err != nil {
		return err
	}
	if len(now.Status.ContainerStatuses) == 0 || now.Status.ContainerStatuses[0].State.Running == nil {
		return errors.New("it does not run")
	}
	_, err := r.SignalContainer(ctx, string(now.UID), "worker", unix.SIGKILL)
	return err
}

// patient makes the job restart its workers in place as often as necessary.
func patient(s *v1alpha1.ElasticJobSpec) { s.BackoffLimit = ptr.To[int32](50) }

// moves waits until a pod that crashes repeatedly has a successor of the same name or owner on another node.
func (r *run) moves(key types.NamespacedName, before *corev1.Pod) {
	r.Helper()
	r.must(framework.Until(r.ctx, "the pod is evicted", func(ctx context.Context) error {
		if r.said(ctx, string(before.UID), moved) > 0 {
			return nil
		}
		return errors.Join(errors.New("it is not evicted"), r.crash(ctx, key))
	}))
	r.must(framework.Until(r.ctx, "the pod runs on another node", func(ctx context.Context) error {
		var list corev1.PodList
		if err := k8s.List(ctx, &list, client.InNamespace(r.ns)); err != nil {
			return err
		}
		for _, pod := range list.Items {
			sameOwner := metav1.GetControllerOf(&pod).UID == metav1.GetControllerOf(before).UID
			sameSlot := before.GenerateName != "" || pod.Name == before.Name
			if sameOwner && sameSlot && pod.UID != before.UID && pod.Spec.NodeName != before.Spec.NodeName && pod.Status.Phase == corev1.PodRunning {
				return nil
			}
		}
		return errors.New("it is not running on another node")
	}))
	if m := memory.Read(r.get().Annotations); m.Times != 1 || len(m.Entries) != 1 || m.Entries[0].Node != before.Spec.NodeName {
		r.Errorf("the record on the workload is %+v", m)
	}
}

// TestAnAppWrappersOwnPodsAndTheRescheduler checks that a move is not a failure of the AppWrapper.
func TestAnAppWrappersOwnPodsAndTheRescheduler(t *testing.T) {
	r := newRun(t)
	job := &batchv1.Job{
		TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"}, ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: batchv1.JobSpec{BackoffLimit: ptr.To[int32](50), Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyOnFailure, TerminationGracePeriodSeconds: ptr.To[int64](1),
			Containers: []corev1.Container{{
				Name: "worker", Image: "localhost/holdfast/worker:dev", ImagePullPolicy: corev1.PullIfNotPresent, Resources: needs(),
			}},
		}}},
	}
	r.create(r.wrap(settings{resets: 2, moves: "3"}, job))
	r.awaitRunning()
	stop := r.watchQuota()
	var list corev1.PodList
	r.must(k8s.List(r.ctx, &list, client.InNamespace(r.ns)))
	r.moves(client.ObjectKeyFromObject(&list.Items[0]), &list.Items[0])
	r.awaitRunning()
	stop()
	r.show(r.ctx)
	if aw := r.get(); aw.Status.Retries+aw.Status.Evacuations != 0 || len(aw.Status.Attempts) != 1 {
		t.Errorf("the AppWrapper has been reset: %+v", aw.Status)
	}
	r.wantAnswers(map[int]int{4: 1})
}

// awaitRunning waits until the AppWrapper is running and its pods are ready.
func (r *run) awaitRunning() {
	r.Helper()
	r.must(framework.Until(r.ctx, "the AppWrapper runs", func(context.Context) error {
		if aw := r.get(); aw.Status.Phase != v1beta2.Running || !meta.IsStatusConditionTrue(aw.Status.Conditions, string(v1beta2.PodsReady)) {
			return fmt.Errorf("it is %s: %+v", aw.Status.Phase, aw.Status.Conditions)
		}
		return nil
	}))
}
