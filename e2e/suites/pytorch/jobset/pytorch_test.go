//go:build e2e && e2e_all

// Package jobset runs the PyTorch training example on a real node, in a Kueue queue. torchrun runs under the supervisor
// and restarts in place when a process dies or hangs, or a pod is deleted. It resumes from the last checkpoint of
// torch.distributed.checkpoint.
//
// HOLDFAST_TORCH_IMAGE names an image with PyTorch 2 on the node, to use instead of Debian's PyTorch 2.6 on this host.
// HOLDFAST_KEEP_TESTBED=1 keeps the cluster running at the end.
package jobset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/e2e/framework/torch"
	"github.com/holdfast-project/holdfast/e2e/suites"
	"github.com/holdfast-project/holdfast/e2e/testbed"
)

const (
	ns      = "e2e-pytorch"
	name    = "pytorch"
	workers = 2
)

var shared *framework.Environment

func TestMain(m *testing.M) { os.Exit(suites.Main(begin, m)) }

func begin(ctx context.Context, progress io.Writer) (func(context.Context) error, error) {
	env, err := framework.New(ctx, testbed.Options{KubeletRestartPeriod: suites.RestartPeriod, KubeProxy: true}, progress)
	if err != nil {
		return nil, err
	}
	shared = env
	end := func(ctx context.Context) error { return errors.Join(env.Cluster.StopKueue(ctx), env.Close()) }
	if err := env.Install(ctx); err != nil {
		return end, err
	}
	if err := env.Cluster.Kueue(ctx, progress); err != nil {
		return end, err
	}
	return end, torch.LoadImage(ctx, env.Cluster)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// training is the running example.
type training struct {
	*testing.T
	checkpoints string // a folder on this host
}

func TestTheExampleResumesFromItsCheckpoint(t *testing.T) {
	tr := begun(t)
	before := tr.workers()
	ids := framework.IDs(before)
	tr.awaitCheckpoint(100)

	must(t, torch.SignalWorkerOf(tr.launcher(before[ids[1]]), unix.SIGKILL))
	tr.resumes(1, "a process was killed")
	tr.sameContainers(before)

	must(t, torch.SignalWorkerOf(tr.launcher(before[ids[0]]), unix.SIGSTOP))
	tr.resumes(2, "a process was stopped, and makes no progress")
	tr.sameContainers(before)

	_, err := shared.DeletePod(t.Context(), before[ids[1]])
	must(t, err)
	tr.resumes(3, "a pod was deleted")
	if now := tr.workers(); now[ids[1]].PodUID == before[ids[1]].PodUID || now[ids[0]].ContainerID != before[ids[0]].ContainerID {
		t.Errorf("the workers are %+v, were %+v", now, before)
	}
}

// begun creates the example with the image and storage of this host, and returns once Kueue has admitted it.
func begun(t *testing.T) *training {
	t.Helper()
	tr := &training{t, t.TempDir()}
	must(t, shared.Namespace(t.Context(), ns))
	suites.MakeQueue(t, shared.Client, suites.QueueOf(ns, suites.Quota{Resource: "cpu", Most: "1"}, suites.Quota{Resource: "memory", Most: "1Gi"})...)
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: ns}, Spec: corev1.PersistentVolumeSpec{
		Capacity: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")}, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
		PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: tr.checkpoints}},
	}}
	must(t, shared.Client.Create(t.Context(), volume))
	t.Cleanup(func() { _ = shared.Client.Delete(context.Background(), volume) })
	must(t, shared.Apply(t.Context(), ns, shared.File("examples", "pytorch", "train.yaml")))
	js, err := shared.Load(ns, shared.File("examples", "pytorch", "jobset.yaml"))
	must(t, err)
	torch.Torch26.Substitute(&js.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec)
	must(t, shared.Client.Create(t.Context(), js))
	t.Cleanup(func() {
		if t.Failed() {
			tr.explain()
		}
		_ = shared.Remove(context.Background(), ns, js.Name)
	})
	tr.await("Kueue has admitted the training", func(ctx context.Context) error {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion("kueue.x-k8s.io/v1beta2")
		list.SetKind("WorkloadList")
		if err := shared.Client.List(ctx, list, client.InNamespace(ns)); err != nil || len(list.Items) != 1 {
			return fmt.Errorf("there are %d workloads (%v)", len(list.Items), err)
		}
		conditions, _, _ := unstructured.NestedSlice(list.Items[0].Object, "status", "conditions")
		for _, c := range conditions {
			if c := c.(map[string]any); c["type"] == "Admitted" && c["status"] == "True" {
				return nil
			}
		}
		return fmt.Errorf("it has %v", conditions)
	})
	return tr
}

func (t *training) await(what string, holds func(context.Context) error) {
	t.Helper()
	must(t.T, framework.Until(t.Context(), what, holds))
}

func (t *training) workers() map[string]framework.Worker {
	t.Helper()
	all, err := shared.AwaitWorkers(t.Context(), ns, name, workers)
	must(t.T, err)
	return all
}

// launcher returns the PID of torchrun.
func (t *training) launcher(w framework.Worker) int {
	t.Helper()
	program, err := shared.Program(t.Context(), w)
	must(t.T, err)
	number, _, _ := strings.Cut(program, "@")
	pid, err := strconv.Atoi(number)
	must(t.T, err)
	return pid
}

func (t *training) sameContainers(before map[string]framework.Worker) {
	t.Helper()
	for id, now := range t.workers() {
		if now.ContainerID != before[id].ContainerID {
			t.Errorf("worker %s is %+v, was %+v", id, now, before[id])
		}
	}
}

// newest returns the step of the newest complete checkpoint, or 0.
func (t *training) newest() (step int) {
	files, _ := filepath.Glob(filepath.Join(t.checkpoints, "step-*", ".metadata"))
	for _, file := range files {
		n, _ := strconv.Atoi(strings.TrimPrefix(filepath.Base(filepath.Dir(file)), "step-"))
		step = max(step, n)
	}
	return step
}

func (t *training) awaitCheckpoint(step int) {
	t.Helper()
	t.await(fmt.Sprintf("there is a checkpoint of step %d", step), func(context.Context) error {
		if newest := t.newest(); newest < step {
			return fmt.Errorf("the newest is of step %d", newest)
		}
		return nil
	})
}

var beginLine = regexp.MustCompile(`(?m)^restart (\d+): begin at step (\d+)$`)

// resumes waits until both ranks have resumed from the same checkpoint, no older than the newest one at the failure,
// and have written five more checkpoints.
func (t *training) resumes(restart int, why string) {
	t.Helper()
	least := t.newest()
	begins := map[string]int{}
	t.await(fmt.Sprintf("restart %d has begun: %s", restart, why), func(ctx context.Context) error {
		pods, err := shared.Workers(ctx, ns, name)
		if err != nil {
			return err
		}
		for id, w := range pods {
			for _, line := range beginLine.FindAllStringSubmatch(logOf(ctx, w), -1) {
				if line[1] == strconv.Itoa(restart) {
					begins[id], _ = strconv.Atoi(line[2])
				}
			}
		}
		if len(begins) < workers {
			return fmt.Errorf("%d ranks have begun", len(begins))
		}
		return nil
	})
	from := 0
	for id, step := range begins {
		if from == 0 {
			from = step
		}
		if step < least || step != from {
			t.Errorf("worker %s begins at step %d after %d, another one at %d", id, step, least, from)
		}
	}
	t.awaitCheckpoint(from + 100)
	t.Logf("restart %d, %s: begins at step %d", restart, why, from)
}

func (t *training) explain() {
	pods, _ := shared.Workers(context.Background(), ns, name)
	for id, w := range pods {
		t.Logf("worker %s: %s", id, logOf(context.Background(), w))
	}
}

func logOf(ctx context.Context, w framework.Worker) string {
	raw, err := shared.Kube.CoreV1().Pods(w.Namespace).GetLogs(w.Pod, &corev1.PodLogOptions{Container: "worker"}).DoRaw(ctx)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}
