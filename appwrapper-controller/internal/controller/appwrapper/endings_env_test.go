//go:build envtest

package appwrapper

import (
	"context"
	"sync"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	. "github.com/holdfast-project/holdfast/appwrapper-controller/internal/testing/wrappers"
)

// expire deletes a Job, if it still exists, as the TTL controller does.
func (w *world) expire(job *batchv1.Job) {
	err := w.Delete(context.Background(), job.DeepCopy(), client.PropagationPolicy(metav1.DeletePropagationBackground))
	if err != nil && !apierrors.IsNotFound(err) {
		w.Error(err)
	}
}

// The Job is deleted between the read from the cache, which shows how it ended, and the live read that confirms it.
func TestJobDeletedDuringConfirmation(t *testing.T) {
	for end, want := range map[batchv1.JobConditionType]v1beta2.AppWrapperPhase{
		batchv1.JobComplete: v1beta2.Succeeded, batchv1.JobFailed: v1beta2.Resetting,
	} {
		t.Run(string(end), func(t *testing.T) {
			w := newWorld(t)
			job := w.running(MakeAppWrapper("a").Job("j", 1), "j", "p")
			var once sync.Once
			w.FailOn(func(call string, _ client.Object) error {
				if call == "get Job" {
					once.Do(func() { w.expire(job) })
				}
				return nil
			})
			w.finishJob(job, end)
			w.awaitPhase("a", want)
		})
	}
}

// The Job ends and is deleted while the controller is busy, so the controller can no longer read how it ended.
func TestJobDeletedBeforeItsEndIsObserved(t *testing.T) {
	for end, want := range map[batchv1.JobConditionType]v1beta2.AppWrapperPhase{
		batchv1.JobComplete: v1beta2.Succeeded, batchv1.JobFailed: v1beta2.Resetting,
	} {
		t.Run(string(end), func(t *testing.T) {
			w := newWorld(t)
			busy, free := make(chan struct{}), make(chan struct{})
			var once sync.Once
			job := w.running(MakeAppWrapper("a").Job("j", 1), "j", "p")
			w.FailOn(func(call string, _ client.Object) error {
				if call == "patch status of AppWrapper" {
					once.Do(func() { close(busy); <-free })
				}
				return nil
			})
			w.sweep() // the pod is gone, so the controller reports it as no longer ready
			<-busy
			w.finishJob(job, end)
			w.expire(job)
			key := owned{w.get("a").UID, reference{batchv1.SchemeGroupVersion.WithKind("Job"), client.ObjectKeyFromObject(job)}}
			w.Eventually(func() string {
				if _, known := w.reconciler.kinds.finished.Get(key); !known {
					return "the deletion of the Job has not been recorded"
				}
				return ""
			})
			close(free)
			w.awaitPhase("a", want)
		})
	}
}

// How a Job ended in one attempt does not affect the Job of the next attempt, which has the same name.
func TestFinishedObjectCountsForItsAttemptOnly(t *testing.T) {
	w := newWorld(t)
	job := w.running(MakeAppWrapper("a").Job("j", 1), "j", "p")
	w.finishJob(job, batchv1.JobFailed)
	w.awaitPhase("a", v1beta2.Resetting)
	w.sweep()
	next := w.awaitNewJob(job)
	w.awaitPhase("a", v1beta2.Running)
	w.expire(next)
	w.awaitPhase("a", v1beta2.Failed)
	w.awaitCondition("a", "Unhealthy=True/MissingComponent")
}
