//go:build e2e

package inplace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/recovering"
)

// stuckTimeout is long enough: a pod counts as stuck after a third of it, and its replacement has the rest.
const stuckTimeout = "2m"

// A container whose image cannot be pulled never starts again in its pod.
func TestAStuckPodIsReplacedAndTheOthersRestartInPlace(t *testing.T) {
	g, before := startInSync(t, func(js *v1alpha2.JobSet) { js.Annotations[v1alpha2.InPlaceTimeoutKey] = stuckTimeout })
	hangs := worker(before, 1)
	g.patchPod(hangs, `{"spec":{"containers":[{"name":"worker","image":"localhost/holdfast/nowhere:dev"}]}}`)
	g.awaitPhase(coordination.Restarting, 1, 1)
	g.awaitMark(true)
	g.awaitPhase(coordination.Running, 1, 1)
	g.onlyReplaced(before, hangs.ID)
	g.awaitCharged(1)
	g.awaitMark(false)
	e := g.awaitEvent("InPlacePodRecreated")
	t.Logf("the event says: %s", e.Note)
	if want := "worker " + hangs.ID + " is waiting: "; !strings.HasPrefix(e.Note, want) || !strings.Contains(e.Note, hangs.Pod) {
		t.Errorf("the event says %q, want %q and the pod's name", e.Note, want)
	}
	if n := len(g.events("InPlaceFailOver")); n != 0 {
		t.Errorf("%d fail-overs", n)
	}
}

func TestADeletedPodIsReplacedAndTheOthersRestartInPlace(t *testing.T) {
	cases := map[string][]client.DeleteOption{
		"gracefully": nil,
		"by force":   {client.GracePeriodSeconds(0)},
	}
	for name, options := range cases {
		t.Run(name, func(t *testing.T) {
			g, before := startInSync(t, nil)
			gone := worker(before, 2)
			jobs := g.podOf(gone)
			g.deletePod(gone, options...)
			g.awaitPhase(coordination.Running, 1, 1)
			if diff := cmp.Diff(made(jobs), made(g.podOf(g.awaitWorkers()[gone.ID]))); diff != "" {
				t.Errorf("the leader's pod differs from the Job controller's (-Job controller +leader):\n%s", diff)
			}
			g.onlyReplaced(before, gone.ID)
			g.awaitCharged(1)
			g.awaitEvent("InPlaceRestart")
			g.awaitEvent("InPlacePodReplaced")
			g.awaitJobCounts(gone.ID)
		})
	}
}

func (g *group) podOf(w framework.Worker) *corev1.Pod {
	g.Helper()
	pod := &corev1.Pod{}
	g.must(g.Client.Get(g.ctx, types.NamespacedName{Namespace: w.Namespace, Name: w.Pod}, pod))
	return pod
}

// made returns a pod as its creator wrote it, without its name and the fields that others have added.
func made(pod *corev1.Pod) *corev1.Pod {
	is := &corev1.Pod{Spec: *pod.Spec.DeepCopy(), ObjectMeta: metav1.ObjectMeta{
		Labels: pod.Labels, Annotations: pod.Annotations, Finalizers: pod.Finalizers, OwnerReferences: pod.OwnerReferences,
	}}
	token := func(name string) bool { return strings.HasPrefix(name, "kube-api-access-") }
	is.Spec.Volumes = slices.DeleteFunc(is.Spec.Volumes, func(v corev1.Volume) bool { return token(v.Name) })
	for _, containers := range [][]corev1.Container{is.Spec.InitContainers, is.Spec.Containers} {
		for i := range containers {
			c := &containers[i]
			c.VolumeMounts = slices.DeleteFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return token(m.Name) })
		}
	}
	return is
}

// awaitJobCounts waits until the Job counts the leader's pod as its own and counts one failure, without creating
// another pod.
func (g *group) awaitJobCounts(replaced string) {
	g.Helper()
	job := &batchv1.Job{}
	key := types.NamespacedName{Namespace: g.js.Namespace, Name: replaced[:strings.LastIndexByte(replaced, '-')]}
	g.must(framework.Until(g.ctx, "the Job counts its pods", func(ctx context.Context) error {
		if err := g.Client.Get(ctx, key, job); err != nil {
			return err
		}
		if s := job.Status; s.Active != size || s.Failed != 1 || ptr.Deref(s.Ready, 0) != size || ptr.Deref(s.Terminating, 0) != 0 {
			return fmt.Errorf("it has %d active, %d ready, %d terminating and %d failed pods", s.Active, ptr.Deref(s.Ready, 0),
				ptr.Deref(s.Terminating, 0), s.Failed)
		}
		return nil
	}))
}

// The Job treats the deleted pod's exit code 0 as success, and does not create another pod.
func TestAWorkerThatExits0WhenItsPodIsDeletedHasNotCompleted(t *testing.T) {
	g, before := startInSync(t, onTermFinish)
	gone := worker(before, 3)
	g.deletePod(gone)
	g.awaitEvent("InPlaceJobRecreated")
	g.must(framework.Until(g.ctx, "the group is in sync again, and each of its rounds is charged", func(ctx context.Context) error {
		sum, err := g.Summary(ctx, string(g.js.UID))
		if err != nil {
			return err
		}
		if sum.Phase != coordination.Running || sum.Round == 0 || sum.Generation != 1 || sum.Done != 0 {
			return fmt.Errorf("it is %s at %d of generation %d, %d of %d joined", sum.Phase, sum.Round, sum.Generation, sum.Joined, sum.Size)
		}
		js, err := g.JobSet(ctx, g.js.Namespace, g.js.Name)
		if err != nil {
			return err
		}
		if got := js.Annotations[v1alpha2.InPlaceRestartsKey]; got != fmt.Sprint(sum.Round) {
			return fmt.Errorf("%q restarts are charged at the total restart count %d", got, sum.Round)
		}
		return nil
	}))
	after := g.awaitWorkers()
	if after[gone.ID].PodUID == gone.PodUID {
		t.Errorf("worker %s is still in its old pod", gone.ID)
	}
	g.awaitMark(false)
}

func TestWorkersThatExit0AfterAnOrderRestartInPlace(t *testing.T) {
	g, before := startInSync(t, onTermFinish)
	g.signal(worker(before, 0), unix.SIGUSR1)
	g.awaitPhase(coordination.Running, 1, 1)
	g.awaitCharged(1)
	for id, is := range g.awaitWorkers() {
		if is.PodUID != before[id].PodUID {
			t.Errorf("worker %s is in another pod", id)
		}
	}
}

// onTermFinish makes workers save a checkpoint on SIGTERM and exit 0, as a completed worker would.
func onTermFinish(js *v1alpha2.JobSet) {
	worker := &js.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec.Containers[0]
	worker.Env = append(worker.Env, corev1.EnvVar{Name: "WORKER_ON_TERM", Value: "finish"})
}

// onlyReplaced waits until one worker is in a new pod and all others have restarted once in theirs. The API server
// learns of the restarts later than the store, and shows the old containers until then.
func (g *group) onlyReplaced(before map[string]framework.Worker, replaced string) {
	g.Helper()
	g.must(framework.Until(g.ctx, "one worker is in a new pod, and the others were restarted in theirs", func(ctx context.Context) error {
		after, err := g.Workers(ctx, g.js.Namespace, g.js.Name)
		if err != nil {
			return err
		}
		var errs []error
		for id, was := range before {
			is := after[id]
			switch same := is.PodUID == was.PodUID; {
			case id == replaced && (same || !is.Ready):
				errs = append(errs, fmt.Errorf("worker %s is not in a new pod: %+v, before %+v", id, is, was))
			case id != replaced && (!same || !is.Ready || is.Restarts != was.Restarts+1):
				errs = append(errs, fmt.Errorf("worker %s was not restarted in its pod: %+v, before %+v", id, is, was))
			}
		}
		return errors.Join(errs...)
	}))
}

func (g *group) patchPod(w framework.Worker, patch string) {
	g.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: w.Pod}}
	g.must(g.Client.Patch(g.ctx, pod, client.RawPatch(types.StrategicMergePatchType, []byte(patch))))
}

func (g *group) deletePod(w framework.Worker, options ...client.DeleteOption) {
	g.Helper()
	_, err := g.DeletePod(g.ctx, w, options...)
	g.must(err)
}

// awaitMark waits until the JobSet is, or is not, marked as recovering.
func (g *group) awaitMark(marked bool) {
	g.Helper()
	g.must(framework.Until(g.ctx, fmt.Sprintf("the JobSet is marked as recovering: %v", marked), func(ctx context.Context) error {
		js, err := g.JobSet(ctx, g.js.Namespace, g.js.Name)
		if err != nil {
			return err
		}
		if value, found := js.Annotations[recovering.Annotation]; found != marked {
			return fmt.Errorf("it is %q", value)
		}
		return nil
	}))
}
