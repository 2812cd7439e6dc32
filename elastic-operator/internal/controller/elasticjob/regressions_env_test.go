//go:build envtest

package elasticjob

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/plan"
	. "github.com/holdfast-project/holdfast/elastic-operator/internal/testing/wrappers"
)

func timeAgo(seconds int) time.Time { return time.Now().Add(-time.Duration(seconds) * time.Second) }

// The upstream controller counted pods by label, so it mistook the pods of a deleted job for workers of a new job with the same name.
func TestPodsOfAnEarlierJobWithTheSameNameAreIgnored(t *testing.T) {
	w := newWorld(t)
	earlier := MakeElasticJob("a").Namespace(w.namespace).Obj()
	earlier.UID = "00000000-0000-0000-0000-000000000000"
	old := plan.WorkerPod(earlier, 1, 0)
	old.Spec.NodeName = w.node(1)
	w.kill(1) // only the test removes the pod
	w.ok(w.Create(t.Context(), old))
	w.create(MakeElasticJob("a").Workers(1, 2, 2).Obj())
	w.reaches("a", v1alpha1.StateRunning, 1)
	w.heard("FailedCreatePod: Pod a-worker-1 already exists and is not controlled by this ElasticJob")
	if pod := w.worker("a", 1); pod.UID != old.UID || pod.DeletionTimestamp != nil {
		t.Error("the pod of the earlier job was replaced or deleted")
	}
	w.ok(w.Delete(t.Context(), old, client.GracePeriodSeconds(0)))
	w.reaches("a", v1alpha1.StateRunning, 2)
}

// A job that the upstream controller created is adopted without changes to the job or its pods.
func TestJobOfThePublishedControllerIsAdopted(t *testing.T) {
	w := newWorld(t)
	w.stop()
	job := w.create(MakeElasticJob("a").Workers(1, 2, 3).Restart(v1alpha1.RestartExitCode).Obj())
	for i := range 2 {
		pod := plan.WorkerPod(job, i, 0)
		pod.Spec.Containers[0].Env = nil
		w.ok(w.Create(t.Context(), pod))
		w.ok(w.Create(t.Context(), plan.WorkerService(job, i)))
	}
	at := metav1.Now().Rfc3339Copy()
	before := job.DeepCopy()
	job.Status.Conditions = []v1alpha1.JobCondition{{Type: v1alpha1.JobRunning, Status: metav1.ConditionTrue, Reason: "ElasticJobRunning", LastUpdateTime: at, LastTransitionTime: at}}
	job.Status.ReplicaStatuses.Worker.Active = 2
	w.ok(w.Status().Patch(t.Context(), job, client.MergeFrom(before)))
	w.start()
	w.eventually(func() string {
		if w.get("a").Status.Indexes != "0-1" {
			return "the job is not adopted"
		}
		return ""
	})
	w.reaches("a", v1alpha1.StateRunning, 2)
	calls, _, _ := w.sofar()
	if len(calls) != 0 {
		t.Errorf("calls %v", calls)
	}
}

// A failure is counted only once if the controller crashes after recording the failure and before deleting the pod.
func TestCrashBetweenTheStatusAndThePod(t *testing.T) {
	w := newWorld(t)
	w.create(MakeElasticJob("a").Workers(1, 2, 2).Obj())
	w.reaches("a", v1alpha1.StateRunning, 2)
	w.failOn(func(call string, _ client.Object) error {
		if call == "delete" {
			return errors.New("the API server is unavailable")
		}
		return nil
	})
	uid := w.end("a", 1, 1)
	w.eventually(func() string {
		if w.get("a").Status.Restarts == 0 {
			return "the failure is not counted"
		}
		return ""
	})
	w.stop()
	w.failOn(nil)
	w.start()
	w.replaced("a", 1, uid)
	job := w.reaches("a", v1alpha1.StateRunning, 2)
	if job.Status.Restarts != 1 {
		t.Errorf("counted %d times", job.Status.Restarts)
	}
}

// The upstream controller crashed on an index label that is not a number, and on a job without replicas.
func TestInvalidObjectsCauseNoCrash(t *testing.T) {
	w := newWorld(t)
	job := w.create(MakeElasticJob("a").With(func(j *v1alpha1.ElasticJob) {
		j.Spec.ReplicaSpecs.Worker.Replicas, j.Spec.MinReplicas, j.Spec.MaxReplicas = nil, nil, nil
	}).Obj())
	w.reaches("a", v1alpha1.StateRunning, 1)
	for i, index := range []string{"00", "one", "7"} {
		pod := plan.WorkerPod(job, 9, 0)
		pod.Name = fmt.Sprintf("a-odd-%d", i)
		pod.Labels[v1alpha1.ReplicaIndexLabel] = index
		w.ok(w.Create(t.Context(), pod))
	}
	w.always(func() string {
		if n := len(w.podNames()); n != 4 {
			return fmt.Sprint(n, " pods")
		}
		return ""
	})
	w.change("a", func(s *v1alpha1.ElasticJobSpec) { s.ReplicaSpecs.Worker.Replicas = ptr.To(int32(2)) })
	w.reaches("a", v1alpha1.StateRunning, 2)
}

// The status of a running job is not written repeatedly.
func TestIdleJobCausesNoCalls(t *testing.T) {
	w := newWorld(t)
	w.create(MakeElasticJob("a").Workers(1, 2, 2).Obj())
	w.reaches("a", v1alpha1.StateRunning, 2)
	before := w.get("a").ResourceVersion
	calls, _, _ := w.sofar()
	w.setReady(0, corev1.ConditionTrue, time.Now()) // causes a reconcile
	w.always(func() string {
		now, _, _ := w.sofar()
		if got := w.get("a").ResourceVersion; got != before || len(now) != len(calls) {
			return fmt.Sprintf("resource version %s, then %s; calls %v", before, got, now[len(calls):])
		}
		return ""
	})
}

// A surplus worker that cannot be scheduled is removed, and the status shows that to autoscalers.
func TestUnschedulableSurplusWorkerIsRemoved(t *testing.T) {
	w := newWorld(t)
	w.hold("a", 2)
	w.create(MakeElasticJob("a").Workers(1, 3, 3).Obj())
	w.reaches("a", v1alpha1.StateRunning, 2) // wait for both, so that workers that are only slow are not removed
	w.change("a", func(s *v1alpha1.ElasticJobSpec) {
		s.ElasticPolicy = &v1alpha1.ElasticPolicy{SurplusPendingSeconds: ptr.To(int32(1)), SurplusRetrySeconds: ptr.To(int32(3600))}
	})
	w.eventually(func() string {
		job := w.get("a")
		if job.Status.GivenBack == nil || job.Status.Replicas != 2 || job.Status.Indexes != "0-1" {
			return fmt.Sprintf("%+v", job.Status)
		}
		return ""
	})
	w.heard("SurplusGivenBack: 1 workers could not be scheduled for 1s")
}

func TestManagedRendezvous(t *testing.T) {
	asked := make(chan string, 100)
	w := newWorld(t, func(w *world) {
		w.image = "localhost/rendezvous:1"
		w.ask = func(_ context.Context, url string) (v1alpha1.RendezvousStatus, error) {
			select {
			case asked <- url:
			default:
			}
			return v1alpha1.RendezvousStatus{Round: 3, Complete: true, Participants: 2, Waiting: 1}, nil
		}
	})
	w.create(MakeElasticJob("a").With(func(j *v1alpha1.ElasticJob) { j.Spec.RdzvEndpoint = "" }).Obj())
	job := w.reaches("a", v1alpha1.StateRunning, 2)
	key := client.ObjectKey{Namespace: w.namespace, Name: "a-rendezvous"}
	server, service := &corev1.Pod{}, &corev1.Service{}
	w.eventually(func() string {
		if r := w.get("a").Status.Rendezvous; r == nil || r.Round != 3 || r.Participants != 2 || r.Waiting != 1 || r.Endpoint != "a-rendezvous:29400" {
			return fmt.Sprintf("rendezvous %+v", r)
		}
		return ""
	})
	if got := <-asked; got != "http://10.0.0.1:8080/status" {
		t.Errorf("requested %s", got)
	}
	w.ok(w.Get(t.Context(), key, server))
	w.ok(w.Get(t.Context(), key, service))
	if args := strings.Join(server.Spec.Containers[0].Args, " "); args != "--listen=:29400 --metrics=:8080 --run-id="+string(job.UID) {
		t.Error(args)
	}
	if !metav1.IsControlledBy(server, job) || service.Spec.Ports[0].Port != 29400 {
		t.Errorf("%v %v", server.OwnerReferences, service.Spec.Ports)
	}
	for _, v := range w.worker("a", 0).Spec.Containers[0].Env {
		if v.Name == "PET_RDZV_ENDPOINT" && v.Value != "a-rendezvous:29400" || v.Name == "PET_RDZV_BACKEND" && v.Value != "c10d" {
			t.Errorf("%+v", v)
		}
	}
	// A deleted server is recreated, and the workers keep running.
	worker := w.worker("a", 0).UID
	w.ok(w.Delete(t.Context(), server))
	w.eventually(func() string {
		again := &corev1.Pod{}
		if err := w.Get(t.Context(), key, again); err != nil || again.UID == server.UID {
			return "the server is not recreated"
		}
		return ""
	})
	if w.worker("a", 0).UID != worker {
		t.Error("a worker was replaced")
	}
	// The server is deleted when no worker needs it anymore.
	w.change("a", func(s *v1alpha1.ElasticJobSpec) { s.Suspend = true })
	w.eventually(func() string {
		if names := w.podNames(); len(names) > 0 {
			return fmt.Sprint(names)
		}
		return ""
	})
}

func TestMissingRendezvousImageIsReported(t *testing.T) {
	w := newWorld(t)
	w.create(MakeElasticJob("a").With(func(j *v1alpha1.ElasticJob) { j.Spec.RdzvEndpoint = "" }).Obj())
	w.eventually(func() string {
		if r := w.get("a").Status.Rendezvous; r == nil || !strings.Contains(r.Message, "--rendezvous-image") {
			return fmt.Sprintf("%+v", r)
		}
		return ""
	})
}
