//go:build envtest

package jobset

import (
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	. "github.com/holdfast-project/holdfast/jobset-controller/internal/testing/wrappers"
	"github.com/holdfast-project/holdfast/shared/history"
)

// awaitHistory waits until a JobSet's history has exactly one restart, and returns it.
func (w *world) awaitHistory(name string) history.Entry {
	w.Helper()
	var list []history.Entry
	w.Eventually(func() string {
		var err error
		list, err = history.Parse(w.jobSet(name).Annotations[history.Annotation])
		if err != nil || len(list) != 1 {
			return fmt.Sprintf("the history has %d restarts: %v", len(list), err)
		}
		return ""
	})
	return list[0]
}

// culprit creates a pod of the given Job that has failed because it ran out of memory.
func (w *world) culprit(job string) {
	w.Helper()
	owner := w.job(job)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.Namespace, Name: job + "-0-abcde", Labels: map[string]string{batchv1.JobNameLabel: job},
			Annotations:     map[string]string{v1alpha2.ReplicatedJobNameKey: "workers", v1alpha2.JobIndexKey: "1", batchv1.JobCompletionIndexAnnotation: "0"},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, batchv1.SchemeGroupVersion.WithKind("Job"))},
		},
		Spec: corev1.PodSpec{NodeName: "node-7", Containers: []corev1.Container{{Name: "worker", Image: "i"}}},
	}
	w.OK(w.Create(w.Context(), pod))
	pod.Status.Phase = corev1.PodFailed
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "worker", State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled", FinishedAt: metav1.Now()},
	}}}
	w.OK(w.Status().Update(w.Context(), pod))
}

// The time lost by a JobSet without in-place restarts is recorded in the same way as for JobSets with them.
func TestRecreationIsAccountedFor(t *testing.T) {
	w := newWorld(t)
	w.create(MakeJobSet("a").Workers(2).MaxRestarts(3))
	w.awaitJobs("a-workers-0@0", "a-workers-1@0")
	w.culprit("a-workers-1")
	begun := time.Now()
	w.fail("a-workers-1")
	w.awaitJobs("a-workers-0@0-", "a-workers-1@0-")
	w.collect("a-workers-0")
	w.collect("a-workers-1")
	w.awaitJobs("a-workers-0@1", "a-workers-1@1")
	w.ready("a-workers-0")
	w.ready("a-workers-1")
	w.awaitCondition("a", "RestartingJobSet=False/JobsReady")
	outage := time.Since(begun)
	e := w.awaitHistory("a")
	t.Logf("recorded %+v for an outage of %s", e, outage)
	want := history.Cause{Kind: "policy", ExitCode: 137, Signal: "SIGKILL", Reason: "OOMKilled"}
	if e.Kind != history.Recreation || e.Epoch != 2 || e.Cause != want || e.Worker != "workers-1-0" || e.Pod != "abcde" || e.Node != "node-7" || !e.Counted {
		t.Errorf("recorded %+v", e)
	}
	if e.Took[history.Down] == 0 || e.Took[history.Start] == 0 || e.Lost() > outage+time.Second { // the API server's times have a resolution of one second
		t.Errorf("recorded %+v for an outage of %s", e, outage)
	}
	w.countIs("holdfast_restarts_total", 1)
}

func TestRecreationIsAccountedForByANewManager(t *testing.T) {
	w := newWorld(t)
	w.create(MakeJobSet("a").Workers(1).MaxRestarts(3))
	w.awaitJobs("a-workers-0@0")
	w.fail("a-workers-0")
	w.awaitJobs("a-workers-0@0-")
	w.Stop()
	w.collect("a-workers-0")
	w.start()
	w.awaitJobs("a-workers-0@1")
	w.ready("a-workers-0")
	w.awaitCondition("a", "RestartingJobSet=False/JobsReady")
	if e := w.awaitHistory("a"); e.Cause.Kind != "policy" || e.Worker != "" || e.Lost() == 0 {
		t.Errorf("recorded %+v", e)
	}
}

// For a group, the orchestrator reports recreations.
func TestRecreationOfAGroupIsLeftToTheOrchestrator(t *testing.T) {
	w := newWorld(t)
	w.create(MakeJobSet("a").Workers(1).MaxRestarts(3).Annotation(v1alpha2.InPlaceTimeoutKey, "60s"))
	w.awaitJobs("a-workers-0@0")
	w.fail("a-workers-0")
	w.awaitJobs("a-workers-0@0-")
	w.collect("a-workers-0")
	w.awaitJobs("a-workers-0@1")
	w.ready("a-workers-0")
	w.awaitCondition("a", "RestartingJobSet=False/JobsReady")
	if text, found := w.jobSet("a").Annotations[history.Annotation]; found {
		t.Errorf("the controller wrote %q", text)
	}
}
