//go:build e2e && e2e_all

// Package tests_pytorch trains with real PyTorch in a JobSet that restarts in place, and looks whether it goes on from its checkpoint.
//
// HOLDFAST_KEEP_TESTBED=1 leaves the cluster up at the end.
package tests_pytorch

import (
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-project/holdfast/e2e/lab"
	"github.com/holdfast-project/holdfast/e2e/suite"
	"github.com/holdfast-project/holdfast/e2e/testbed"
	"github.com/holdfast-project/holdfast/e2e/torch"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination"
)

const (
	ns      = "e2e-pytorch"
	workers = 2
)

var shared *lab.Lab

func TestMain(m *testing.M) { os.Exit(suite.Main(begin, m)) }

func begin(ctx context.Context, progress io.Writer) (func(context.Context) error, error) {
	l, err := lab.New(ctx, testbed.Options{KubeletRestartPeriod: suite.RestartPeriod, KubeProxy: true}, progress)
	if err != nil {
		return nil, err
	}
	shared = l
	end := func(context.Context) error { return l.Close() }
	if err := l.Install(ctx); err != nil {
		return end, err
	}
	return end, torch.LoadImages(ctx, l.Cluster, l.File("bin", "rendezvous"))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The example goes on from its checkpoint: after a restart in place from the one in its own pod, and in a new pod from that of the other rank.
func TestTrainingGoesOnFromItsCheckpoint(t *testing.T) {
	must(t, shared.Namespace(t.Context(), ns))
	must(t, shared.Apply(t.Context(), ns, shared.File("examples", "pytorch", "script.yaml")))
	js := create(t)
	before, err := shared.AwaitWorkers(t.Context(), ns, js.Name, workers)
	must(t, err)
	ids := lab.IDs(before)
	awaitStep(t, before[ids[0]], 50)

	_, err = shared.Signal(t.Context(), before[ids[1]], unix.SIGKILL)
	must(t, err)
	after := awaitRound(t, js, 1)
	for _, id := range ids {
		if after[id].PodUID != before[id].PodUID || after[id].Restarts != before[id].Restarts {
			t.Errorf("worker %s is %+v, was %+v", id, after[id], before[id])
		}
		if from := begins(t, after[id], 1); from < 50 {
			t.Errorf("worker %s began again at step %d", id, from)
		}
	}
	awaitStep(t, after[ids[0]], 100)

	_, err = shared.DeletePod(t.Context(), after[ids[1]])
	must(t, err)
	moved := awaitRound(t, js, 2)
	if moved[ids[1]].PodUID == after[ids[1]].PodUID {
		t.Error("the pod that was deleted is still there")
	}
	if from := begins(t, moved[ids[1]], 2); from < 100 {
		t.Errorf("the new pod began at step %d", from)
	}
}

// create the example with what the host has of PyTorch: 650 MB are in no image here.
func create(t *testing.T) *v1alpha2.JobSet {
	t.Helper()
	js, err := shared.Load(ns, shared.File("examples", "pytorch", "jobset.yaml"))
	must(t, err)
	volumes, mounts := torch.Torch113.Volumes(t.TempDir())
	pod := &js.Spec.ReplicatedJobs[0].Template.Spec.Template.Spec
	pod.Volumes = append(pod.Volumes, volumes...)
	pod.Containers[0].VolumeMounts = append(pod.Containers[0].VolumeMounts, mounts...)
	must(t, shared.Client.Create(t.Context(), js))
	t.Cleanup(func() { _ = shared.Remove(context.Background(), ns, js.Name) })
	return js
}

func awaitRound(t *testing.T, js *v1alpha2.JobSet, round int64) map[string]lab.Worker {
	t.Helper()
	_, err := shared.AwaitPhase(t.Context(), js, coordination.Running, 1, round)
	must(t, err)
	all, err := shared.AwaitWorkers(t.Context(), ns, js.Name, workers)
	must(t, err)
	return all
}

var (
	stepLine  = regexp.MustCompile(`(?m)^step (\d+) loss`)
	beginLine = regexp.MustCompile(`(?m)^round (\d+): begin at step (\d+)$`)
)

// awaitStep returns once rank 0 has saved a checkpoint at that step or later.
func awaitStep(t *testing.T, w lab.Worker, step int) {
	t.Helper()
	must(t, lab.Until(t.Context(), fmt.Sprintf("%s is at step %d", w.ID, step), func(ctx context.Context) error {
		lines := stepLine.FindAllStringSubmatch(logOf(ctx, w), -1)
		if len(lines) == 0 {
			return fmt.Errorf("it has made none")
		}
		if last, _ := strconv.Atoi(lines[len(lines)-1][1]); last < step {
			return fmt.Errorf("it is at step %d", last)
		}
		return nil
	}))
}

// begins is the step from which a worker went on in a round.
func begins(t *testing.T, w lab.Worker, round int) int {
	t.Helper()
	from := -1
	must(t, lab.Until(t.Context(), fmt.Sprintf("%s has begun round %d", w.ID, round), func(ctx context.Context) error {
		for _, line := range beginLine.FindAllStringSubmatch(logOf(ctx, w), -1) {
			if line[1] == strconv.Itoa(round) {
				from, _ = strconv.Atoi(line[2])
				return nil
			}
		}
		return fmt.Errorf("its log does not say so:\n%s", logOf(ctx, w))
	}))
	return from
}

func logOf(ctx context.Context, w lab.Worker) string {
	raw, err := shared.Kube.CoreV1().Pods(w.Namespace).GetLogs(w.Pod, &corev1.PodLogOptions{Container: "worker"}).DoRaw(ctx)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}
