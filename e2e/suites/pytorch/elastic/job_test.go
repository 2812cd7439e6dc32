//go:build e2e

package elastic

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/e2e/framework/torch"
	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
)

// patience is how long to wait before the test fails. It is not an expectation.
const patience = 5 * time.Minute

// training is an ElasticJob whose workers train.
type training struct {
	*testing.T
	version   torch.Version
	namespace string
	state     string // a folder on the host
	job       *v1alpha1.ElasticJob
}

const name = "training"

// newTraining creates a namespace and a folder. start creates the job.
func newTraining(t *testing.T, v torch.Version) *training {
	t.Helper()
	ctx := context.Background()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "torch-"}}
	if err := k8s.Create(ctx, ns); err != nil {
		t.Fatal(err)
	}
	state, err := os.MkdirTemp("", "holdfast-training-")
	if err != nil {
		t.Fatal(err)
	}
	tr := &training{T: t, version: v, namespace: ns.Name, state: state}
	t.Cleanup(func() {
		if t.Failed() {
			tr.explain()
		}
		if err := k8s.Delete(ctx, ns); err != nil {
			t.Error(err)
		}
		os.RemoveAll(state)
	})
	return tr
}

func (t *training) start(endpoint string, backend v1alpha1.RendezvousBackend, replicas, least, most int32, changes ...func(*v1alpha1.ElasticJob)) {
	t.Helper()
	volumes, mounts := t.version.Volumes(t.state)
	job := &v1alpha1.ElasticJob{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: t.namespace}}
	job.Spec.RdzvEndpoint, job.Spec.RdzvBackend = endpoint, backend
	job.Spec.MinReplicas, job.Spec.MaxReplicas = ptr.To(least), ptr.To(most)
	job.Spec.BackoffLimit = ptr.To(int32(20))
	worker := &job.Spec.ReplicaSpecs.Worker
	worker.Replicas = ptr.To(replicas)
	worker.Template.Spec = corev1.PodSpec{
		Volumes:                       volumes,
		TerminationGracePeriodSeconds: ptr.To(int64(5)),
		Containers: []corev1.Container{{
			Name: "worker", Image: torch.Image, Command: torch.Command(), VolumeMounts: mounts,
			Env: []corev1.EnvVar{{Name: "TRAIN_STATE", Value: "/state/state"}, {Name: "TRAIN_PAUSE", Value: "0.2"}, {Name: "OMP_NUM_THREADS", Value: "1"}, {Name: "LOGLEVEL", Value: "INFO"}},
		}},
	}
	c := &worker.Template.Spec.Containers[0]
	c.Env = append(c.Env, t.version.Variables()...)
	for _, change := range changes {
		change(job)
	}
	if err := k8s.Create(context.Background(), job); err != nil {
		t.Fatal(err)
	}
	t.job = job
}

func (t *training) history() torch.History { return torch.HistoryOf(filepath.Join(t.state, "state")) }

func (t *training) await(what string, holds func(ctx context.Context) error) {
	t.Helper()
	began := time.Now()
	if err := framework.UntilEvery(context.Background(), what, 100*time.Millisecond, patience, holds); err != nil {
		t.Fatal(err)
	}
	t.Logf("%5.1f s until %s", time.Since(began).Seconds(), what)
}

// goesOn waits for five more steps by the given number of workers.
func (t *training) goesOn(world int, what string) {
	t.Helper()
	began := len(t.history().Lines())
	t.await(fmt.Sprintf("%d workers continue: %s", world, what), func(context.Context) error {
		if !t.history().GoesOn(began, world) {
			return fmt.Errorf("%d steps since then, the last by %d workers", len(t.history().Lines())-began, t.history().Last().World)
		}
		return nil
	})
}

func (t *training) pod(pod string) *corev1.Pod {
	t.Helper()
	p := &corev1.Pod{}
	if err := k8s.Get(context.Background(), client.ObjectKey{Namespace: t.namespace, Name: pod}, p); err != nil {
		t.Fatal(err)
	}
	return p
}

func worker(i int) string { return fmt.Sprintf("%s-worker-%d", name, i) }

// killWorker kills the process that trains, but not the agent above it.
func (t *training) killWorker(i int) {
	t.Helper()
	agent, err := shared.Cluster.ContainerPID(context.Background(), string(t.pod(worker(i)).UID), "worker")
	if err != nil {
		t.Fatal(err)
	}
	if err := torch.KillWorkerOf(agent); err != nil {
		t.Fatal(err)
	}
}

// killContainer kills a container's first process.
func (t *training) killContainer(pod, container string) {
	t.Helper()
	if _, err := shared.SignalContainer(context.Background(), string(t.pod(pod).UID), container, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// deletePod deletes a pod and waits for its replacement.
func (t *training) deletePod(pod string) {
	t.Helper()
	old := t.pod(pod)
	if err := k8s.Delete(context.Background(), old); err != nil {
		t.Fatal(err)
	}
	t.await("the replacement exists", func(ctx context.Context) error {
		now := &corev1.Pod{}
		err := k8s.Get(ctx, client.ObjectKeyFromObject(old), now)
		if err == nil && now.UID == old.UID {
			err = errors.New("it is the old pod")
		}
		return err
	})
}

// isRank0 waits until a worker has logged a step, which only rank 0 does.
func (t *training) isRank0(pod string) {
	t.Helper()
	t.await(pod+" is rank 0", func(ctx context.Context) error {
		log, err := shared.Kube.CoreV1().Pods(t.namespace).GetLogs(pod, &corev1.PodLogOptions{}).DoRaw(ctx)
		if err == nil && !strings.Contains(string(log), "step=") {
			err = errors.New("it has printed no step")
		}
		return err
	})
}

// awaitGone waits until the pod no longer exists.
func (t *training) awaitGone(pod string) {
	t.Helper()
	t.await(pod+" is gone", func(ctx context.Context) error {
		err := k8s.Get(ctx, client.ObjectKey{Namespace: t.namespace, Name: pod}, &corev1.Pod{})
		if err == nil {
			return errors.New("it still exists")
		}
		return client.IgnoreNotFound(err)
	})
}

// scale sets the number of workers as `kubectl scale` and autoscalers do.
func (t *training) scale(n int32) {
	t.Helper()
	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: n}}
	if err := k8s.SubResource("scale").Update(context.Background(), t.job.DeepCopy(), client.WithSubResourceBody(scale)); err != nil {
		t.Fatal(err)
	}
}

func (t *training) now(ctx context.Context) (*v1alpha1.ElasticJob, error) {
	job := &v1alpha1.ElasticJob{}
	return job, k8s.Get(ctx, client.ObjectKeyFromObject(t.job), job)
}

// finish waits until the loss has decreased, makes the workers stop after a step, and waits until the job has
// succeeded.
func (t *training) finish() {
	t.Helper()
	t.await("the loss has decreased", func(context.Context) error { return torch.Check(t.history().Lines()) })
	if err := os.WriteFile(filepath.Join(t.state, "state.stop"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.succeeds()
	lines := t.history().Lines()
	if err := torch.Check(lines); err != nil {
		t.Error(err)
	}
	if err := t.version.Verify(context.Background(), filepath.Join(t.state, "state")); err != nil {
		t.Error(err)
	}
	t.Logf("%d steps, loss %.4f to %.4f", len(lines), lines[0].Loss, t.history().Last().Loss)
}

func (t *training) succeeds() {
	t.Helper()
	t.await("the job has succeeded", func(ctx context.Context) error {
		job, err := t.now(ctx)
		if err != nil {
			return err
		}
		for _, c := range job.Status.Conditions {
			if c.Type == v1alpha1.JobSucceeded && c.Status == metav1.ConditionTrue {
				return nil
			}
		}
		return fmt.Errorf("it is %s: %s", job.Status.State, job.Status.Message)
	})
}

// explain logs the state of the job after a failure.
func (t *training) explain() {
	ctx := context.Background()
	if job, err := t.now(ctx); err == nil {
		t.Logf("status: %+v", job.Status)
	}
	var pods corev1.PodList
	if err := k8s.List(ctx, &pods, client.InNamespace(t.namespace)); err != nil {
		return
	}
	for _, p := range pods.Items {
		t.Logf("pod %s: %s %s", p.Name, p.Status.Phase, p.Status.Message)
		log, err := shared.Kube.CoreV1().Pods(p.Namespace).GetLogs(p.Name, &corev1.PodLogOptions{TailLines: ptr.To(int64(40))}).DoRaw(ctx)
		if err == nil {
			t.Logf("%s", log)
		}
	}
}
