//go:build e2e

package elastic

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/shared/roster"
)

// inPlace enables in-place restarts. The supervisor needs a command to run.
func inPlace(j *v1alpha1.ElasticJob) {
	j.Annotations = map[string]string{v1alpha1.InPlaceTimeoutKey: "60s"}
	j.Spec.ReplicaSpecs.Worker.Template.Spec.Containers[0].Command = []string{"/worker"}
}

// When a worker fails, the processes of all workers restart, and no pod is replaced. The group follows the job when it
// is scaled or loses a pod. Later steps depend on earlier ones.
func TestWorkersRestartInPlace(t *testing.T) {
	b := newBench(t)
	b.create(b.job("train", 2, 3, 4, inPlace))
	b.awaitInSync("train", 3)
	before, programs := b.podsOf("train", 3), b.programs("train", 3)

	// One worker is killed. All three restart in the same pods and containers.
	b.killWorker("train", 1)
	b.awaitPrograms("train", programs, 3)
	b.awaitCounted("train", 1, 0) // all workers may run again before the operator has counted the failure
	job := b.awaitInSync("train", 3)
	b.checkSamePods("train", before)
	if s := job.Status; s.InPlace == nil || s.InPlace.Failures != 1 {
		t.Errorf("status.inPlace is %+v", s.InPlace)
	}
	b.awaitEvent("train", "InPlaceRestart", "exited with code 137")

	// A worker is added. No running worker is stopped, and the new one belongs to the group from then on.
	programs = b.programs("train", 3)
	b.scale("train", 4)
	b.awaitInSync("train", 4)
	b.checkSamePrograms("train", programs)
	before, programs = b.podsOf("train", 4), b.programs("train", 4)
	b.killWorker("train", 3)
	b.awaitPrograms("train", programs, 4)
	b.awaitInSync("train", 4)
	b.checkSamePods("train", before)

	// A pod is lost. It is replaced, and its worker joins. The others restart once, in their pods.
	programs = b.programs("train", 4)
	lost := b.worker("train", 2)
	b.OK(k8s.Delete(t.Context(), lost))
	b.Until("the pod is replaced", func(ctx context.Context) error {
		pod := &corev1.Pod{}
		if err := k8s.Get(ctx, client.ObjectKeyFromObject(lost), pod); err != nil || pod.UID == lost.UID {
			return fmt.Errorf("it is not replaced (%v)", err)
		}
		return nil
	})
	b.awaitPrograms("train", programs, 4)
	b.awaitCounted("train", 2, 1)
	job = b.awaitInSync("train", 4)
	delete(before, 2)
	b.checkSamePods("train", before)
	if round := roster.ReportOf(job.Annotations).Round; round != 3 {
		t.Errorf("two failures and a lost pod caused %d restarts", round)
	}
}

// awaitInSync waits until the given number of workers is in sync.
func (b *bench) awaitInSync(name string, workers int64) *v1alpha1.ElasticJob {
	b.Helper()
	var job *v1alpha1.ElasticJob
	b.Until(fmt.Sprintf("%d workers of %s are in sync", workers, name), func(context.Context) error {
		job = b.get(name)
		report := roster.ReportOf(job.Annotations)
		said := "nothing"
		for _, c := range job.Status.Conditions {
			if c.Type == v1alpha1.JobInPlaceInSync {
				said = string(c.Status) + " " + c.Reason + " " + c.Message
			}
		}
		if report == nil || report.Size != workers || report.Phase != "Running" || !strings.HasPrefix(said, "True InSync") {
			return fmt.Errorf("the condition is %s; the report is %+v", said, report)
		}
		return nil
	})
	return job
}

type seenPod struct {
	uid      string
	restarts int32
}

// podsOf returns the pods of the first `workers` workers, by index.
func (b *bench) podsOf(job string, workers int) map[int]seenPod {
	b.Helper()
	pods := map[int]seenPod{}
	for i := range workers {
		pods[i] = b.podOf(job, i)
	}
	return pods
}

func (b *bench) podOf(job string, index int) seenPod {
	b.Helper()
	pod := b.worker(job, index)
	seen := seenPod{uid: string(pod.UID)}
	for _, c := range pod.Status.ContainerStatuses {
		seen.restarts += c.RestartCount
	}
	return seen
}

func (b *bench) checkSamePods(job string, before map[int]seenPod) {
	b.Helper()
	for i, pod := range before {
		if now := b.podOf(job, i); now != pod {
			b.Errorf("worker %d: the pod was %+v, and is %+v", i, pod, now)
		}
	}
}

func (b *bench) labWorker(job string, index int) framework.Worker {
	b.Helper()
	pod := b.worker(job, index)
	return framework.Worker{ID: pod.Name, Namespace: pod.Namespace, Pod: pod.Name, PodUID: string(pod.UID), Container: pod.Spec.Containers[0].Name}
}

// killWorker kills a worker's program, but not its supervisor.
func (b *bench) killWorker(job string, index int) {
	b.Helper()
	_, err := shared.Signal(b.Context(), b.labWorker(job, index), unix.SIGKILL)
	b.OK(err)
}

// programs returns the names of the workers' processes.
func (b *bench) programs(job string, workers int) map[int]string {
	b.Helper()
	list := map[int]string{}
	b.Until("all programs run", func(ctx context.Context) error {
		for i := range workers {
			program, err := shared.Program(ctx, b.labWorker(job, i))
			if err != nil {
				return err
			}
			list[i] = program
		}
		return nil
	})
	return list
}

// awaitPrograms waits until every worker runs a different program than before.
func (b *bench) awaitPrograms(job string, before map[int]string, workers int) {
	b.Helper()
	b.Until("all programs have restarted", func(ctx context.Context) error {
		for i := range workers {
			program, err := shared.Program(ctx, b.labWorker(job, i))
			if err != nil {
				return err
			}
			if program == before[i] {
				return fmt.Errorf("worker %d still runs its old program", i)
			}
		}
		return nil
	})
}

func (b *bench) checkSamePrograms(job string, before map[int]string) {
	b.Helper()
	for i, program := range b.programs(job, len(before)) {
		if program != before[i] {
			b.Errorf("worker %d was stopped: %s, then %s", i, before[i], program)
		}
	}
}

// awaitEvent waits for an event of a job.
func (b *bench) awaitEvent(job, reason, part string) {
	b.Helper()
	b.Until("event "+reason, func(ctx context.Context) error {
		var list eventsv1.EventList
		if err := k8s.List(ctx, &list, client.InNamespace(b.NS)); err != nil {
			return err
		}
		for _, e := range list.Items {
			if e.Regarding.Name == job && e.Reason == reason && strings.Contains(e.Note, part) {
				return nil
			}
		}
		return fmt.Errorf("none of %d events matches", len(list.Items))
	})
}
