//go:build envtest

package elasticjob

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	. "github.com/holdfast-project/holdfast/elastic-operator/internal/testing/wrappers"
)

// The tests in this file check the output of kubectl get, kubectl get -o wide and kubectl describe for a job.

// columns returns the cells of a job's row as kubectl requests them. The names of columns shown only by -o wide are in brackets.
func (w *world) columns(name string) map[string]string {
	w.Helper()
	table := &metav1.Table{}
	w.ok(must(kubernetes.NewForConfig(apiServer)).Discovery().RESTClient().Get().
		AbsPath("/apis/elastic.pytorch.org/v1alpha1/namespaces", w.namespace, "elasticjobs", name).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").Do(w.Context()).Into(table))
	cells := map[string]string{}
	for i, column := range table.ColumnDefinitions {
		name := column.Name
		if column.Priority > 0 {
			name = "[" + name + "]"
		}
		cells[name] = fmt.Sprint(table.Rows[0].Cells[i])
	}
	return cells
}

// All numbers in the row differ, so that a number in the wrong column is detected.
func TestPrinterColumns(t *testing.T) {
	w := newWorld(t)
	w.hold("a", 4)
	w.create(MakeElasticJob("a").Workers(3, 5, 6).Obj())
	w.reaches("a", v1alpha1.StateRunning, 4)
	w.replaced("a", 0, w.end("a", 0, 1))
	w.replaced("a", 1, w.end("a", 1, 1, evicted))
	w.replaced("a", 2, w.end("a", 2, 1, evicted))
	w.reaches("a", v1alpha1.StateRunning, 4)
	got := w.columns("a")
	if got["Age"] == "" {
		t.Error("no age")
	}
	delete(got, "Age")
	if diff := cmp.Diff(map[string]string{
		"Name": "a", "State": "Running", "Active": "4", "Desired": "5", "Min": "3", "Max": "6", "Restarts": "1", "Disruptions": "2",
		"[Round]": "<nil>", "[Waiting-For]": "4 of 5 workers are running: 1 waiting for a node",
	}, got); diff != "" {
		t.Error(diff)
	}
}

func TestConditionRestarting(t *testing.T) {
	w := newWorld(t)
	w.create(MakeElasticJob("a").Workers(1, 2, 2).Obj())
	job := w.reaches("a", v1alpha1.StateRunning, 2)
	if c := condition(job, v1alpha1.JobRestarting); c.Type != "" {
		t.Errorf("before anything has failed: %+v", c)
	}
	w.hold("a", 1)
	w.end("a", 1, 1)
	job = w.reaches("a", v1alpha1.StateRestarting, 1)
	c := condition(job, v1alpha1.JobRestarting)
	if c.Status != metav1.ConditionTrue || c.Reason != "ElasticJobRestarting" || c.Message != "ElasticJob a is restarting because 1 Worker replica(s) failed." {
		t.Errorf("%+v", c)
	}
	if c.LastTransitionTime.IsZero() || c.LastUpdateTime.IsZero() {
		t.Errorf("no times: %+v", c)
	}
	if c := condition(job, v1alpha1.JobRunning); c.Status != metav1.ConditionTrue {
		t.Errorf("one worker is enough: %+v", c)
	}
	w.release("a", 1)
	job = w.reaches("a", v1alpha1.StateRunning, 2)
	if c := condition(job, v1alpha1.JobRestarting); c.Status != metav1.ConditionFalse || c.Reason != "ElasticJobRestarted" {
		t.Errorf("%+v", c)
	}
}

// The upstream controller also reports that it ignores the restart policy in the template, because users who set it expect it to have an
// effect.
func TestIgnoredRestartPolicyIsReported(t *testing.T) {
	w := newWorld(t)
	w.create(MakeElasticJob("a").With(func(j *v1alpha1.ElasticJob) {
		j.Spec.ReplicaSpecs.Worker.Template.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	}).Obj())
	w.create(MakeElasticJob("b").Obj())
	w.reaches("a", v1alpha1.StateRunning, 2)
	w.reaches("b", v1alpha1.StateRunning, 2)
	w.heard("Warning SettedPodTemplateRestartPolicy: The restartPolicy of the pod template is ignored: set replicaSpecs.Worker.restartPolicy")
	w.change("a", func(s *v1alpha1.ElasticJobSpec) { *s.ReplicaSpecs.Worker.Replicas = 3 })
	w.reaches("a", v1alpha1.StateRunning, 3)
	if n := w.times("SettedPodTemplateRestartPolicy"); n != 1 {
		t.Errorf("emitted %d times, want once, for one of the two jobs", n)
	}
}

func TestPodDeletionsAreReported(t *testing.T) {
	w := newWorld(t)
	w.create(MakeElasticJob("a").Workers(1, 3, 3).Obj())
	w.reaches("a", v1alpha1.StateRunning, 3)
	w.failOn(func(call string, object client.Object) error {
		if call == "delete" && object.GetName() == "a-worker-2" {
			return errors.New("the API server is unavailable")
		}
		return nil
	})
	w.change("a", func(s *v1alpha1.ElasticJobSpec) { *s.ReplicaSpecs.Worker.Replicas = 1 })
	w.heard("Warning FailedDeletePod: Error deleting pod a-worker-2: the API server is unavailable", "Normal SuccessfulDeletePod: Deleted pod: a-worker-1")
	if w.times("SuccessfulDeletePod: Deleted pod: a-worker-2") != 0 {
		t.Error("a failed deletion is reported as successful")
	}
	w.failOn(nil)
	w.heard("Normal SuccessfulDeletePod: Deleted pod: a-worker-2")
	w.eventually(func() string {
		if names := w.podNames(); len(names) != 1 {
			return fmt.Sprint("pods ", names)
		}
		return ""
	})
	if w.times("SuccessfulDeletePod: Deleted pod: a-worker-0") != 0 {
		t.Error("the remaining pod is reported as deleted")
	}
}

// times returns how many times an event was emitted.
func (w *world) times(part string) int {
	_, events, _ := w.sofar()
	n := 0
	for _, e := range events {
		if strings.Contains(e, part) {
			n++
		}
	}
	return n
}
