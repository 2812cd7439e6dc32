//go:build e2e

package beside

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

const nodes = 4

// trainJob returns a TrainJob with four nodes. patch, if not nil, is applied to the template of its JobSet.
func trainJob(name string, runtime map[string]any, patch map[string]any) *unstructured.Unstructured {
	spec := map[string]any{
		"runtimeRef": runtime,
		"trainer":    map[string]any{"numNodes": int64(nodes), "image": framework.WorkerImage, "command": []any{"/worker"}},
	}
	if patch != nil {
		spec["runtimePatches"] = []any{map[string]any{"manager": "example.com/in-place", "trainingRuntimeSpec": map[string]any{"template": patch}}}
	}
	job := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	job.SetGroupVersionKind(framework.TrainJob)
	job.SetNamespace(jobs)
	job.SetName(name)
	return job
}

// distributed is the runtime that Kubeflow Trainer installs for PyTorch.
func distributed() map[string]any { return map[string]any{"name": "torch-distributed"} }

func annotated(annotations map[string]string) map[string]any {
	values := map[string]any{}
	for key, value := range annotations {
		values[key] = value
	}
	return map[string]any{"metadata": map[string]any{"annotations": values}}
}

// startTrainJob creates a TrainJob, and returns its JobSet's group.
func startTrainJob(t *testing.T, job *unstructured.Unstructured) *group {
	t.Helper()
	g := newGroup(t, jobSet, job.GetName(), nodes)
	g.shown = "trainjob,jobset,job,pod"
	g.awaitWebhook()
	g.must(framework.Until(g.ctx, "the TrainJob is created", func(ctx context.Context) error {
		return client.IgnoreAlreadyExists(g.Client.Create(ctx, job))
	}))
	t.Cleanup(func() {
		g.tell()
		if err := g.Client.Delete(context.Background(), job, client.PropagationPolicy(metav1.DeletePropagationForeground)); err != nil {
			t.Error(err)
		}
		g.untilGone(job)
	})
	return g
}

// A TrainJob restarts in place after a process is killed, even without an orchestrator, and after a pod is deleted. When
// the budget is used up, it fails.
func TestTrainJob(t *testing.T) {
	g := startTrainJob(t, trainJob("train", distributed(), annotated(asking("3"))))
	workers := g.running()
	g.kill(first(workers))
	g.awaitCharged(1)
	g.replaceOrchestrator(first(workers))
	g.awaitCharged(2)
	g.awaitSync("InSync")
	g.samePods(workers)
	lost := first(workers)
	g.lose(lost)
	g.awaitCharged(3)
	g.samePods(workers, lost.ID)
	g.untilEvent("InPlaceRestart")
	g.timeline("restart in place", "1 of 3", "2 of 3", "3 of 3")
	_, err := g.Signal(g.ctx, first(g.running()), unix.SIGKILL)
	g.must(err)
	g.untilFailed()
	g.untilNoPods()
	g.must(framework.Until(g.ctx, "the TrainJob has failed", func(ctx context.Context) error {
		job := trainJob("train", nil, nil)
		if err := g.Client.Get(ctx, client.ObjectKeyFromObject(job), job); err != nil {
			return err
		}
		conditions, _, _ := unstructured.NestedSlice(job.Object, "status", "conditions")
		for _, one := range conditions {
			if c := one.(map[string]any); c["type"] == "Failed" && c["status"] == "True" {
				return nil
			}
		}
		return fmt.Errorf("conditions %v", conditions)
	}))
}

// startRuntime creates a copy of the runtime torch-distributed with annotations and a failure policy, and returns a reference to it.
func startRuntime(t *testing.T, name string, annotations map[string]string, maxRestarts int64) map[string]any {
	t.Helper()
	runtime := &unstructured.Unstructured{}
	runtime.SetGroupVersionKind(framework.ClusterTrainingRuntime)
	if err := shared.Client.Get(t.Context(), client.ObjectKey{Name: "torch-distributed"}, runtime); err != nil {
		t.Fatal(err)
	}
	spec, _, _ := unstructured.NestedMap(runtime.Object, "spec")
	own := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	own.SetGroupVersionKind(framework.TrainingRuntime)
	own.SetNamespace(jobs)
	own.SetName(name)
	own.SetLabels(runtime.GetLabels())
	for _, err := range []error{
		unstructured.SetNestedField(own.Object, annotated(annotations)["metadata"], "spec", "template", "metadata"),
		unstructured.SetNestedField(own.Object, maxRestarts, "spec", "template", "spec", "failurePolicy", "maxRestarts"),
		shared.Client.Create(t.Context(), own),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = shared.Client.Delete(context.Background(), own) })
	return map[string]any{"name": name, "kind": "TrainingRuntime"}
}

// A runtime's annotations apply to all TrainJobs that refer to it. A pod that is not scheduled in time causes a
// recreation of the Jobs.
func TestTrainJobTimeout(t *testing.T) {
	runtime := startRuntime(t, "timeout", map[string]string{v1alpha2.InPlaceTimeoutKey: "6s"}, 20)
	g := startTrainJob(t, trainJob("train-timeout", runtime, nil))
	g.timeOutJobs(g.running(), client.GracePeriodSeconds(1))
}

// The annotation has no effect on a pod template, and a condition of the JobSet reports this.
func TestTrainJobAnnotatedOnItsPods(t *testing.T) {
	patch := map[string]any{"spec": map[string]any{"replicatedJobs": []any{map[string]any{
		"name": "node", "template": map[string]any{"spec": map[string]any{"template": annotated(asking("3"))}},
	}}}}
	g := startTrainJob(t, trainJob("train-pods", distributed(), patch))
	is := g.awaitSync("NotPossible")
	if !strings.Contains(is.message, "set it on the JobSet") {
		t.Errorf("the condition says %q", is.message)
	}
	workers, err := g.AwaitWorkers(g.ctx, jobs, g.name, nodes)
	g.must(err)
	for _, w := range workers {
		if comm, err := g.FirstProcess(g.ctx, w); err != nil || comm != "worker" {
			t.Errorf("the first process of %s is %q (%v)", w.ID, comm, err)
		}
	}
}
