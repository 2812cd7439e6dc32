package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
)

// deleteStaleJobs deletes the Jobs that a fail-over has left behind. It is the level that counts, not the moment of the
// fail-over, so a leader that dies in between is no loss. The UID keeps a Job of the same name that came later safe.
func (r *Reconciler) deleteStaleJobs(ctx context.Context, s *scope) error {
	var errs []error
	for i := range s.jobs {
		job := &s.jobs[i]
		if !job.DeletionTimestamp.IsZero() || !s.epoch.Stale(epoch.OfJob(job.Annotations)) {
			continue
		}
		err := r.Client.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationForeground),
			client.Preconditions{UID: &job.UID})
		if client.IgnoreNotFound(err) != nil {
			errs = append(errs, fmt.Errorf("deleting Job %s: %w", job.Name, err))
			continue
		}
		log.FromContext(ctx).Info("deleted a Job for full recreation", "job", job.Name, "epoch", s.epoch.Epoch)
	}
	return errors.Join(errs...)
}

// finishedSlots lists the workers that have finished, by the completed indexes of the Jobs, and the slots of those that are complete that will
// have none.
func finishedSlots(jobSet string, jobs []*batchv1.Job, stages []coordination.Stage) []string {
	var slots []string
	for _, job := range jobs {
		slots = append(slots, inplace.FinishedSlots(jobSet, job)...)
		slots = append(slots, inplace.SlotsBeyond(jobSet, job, stages)...)
	}
	return slots
}

// currentJobs are those of the current attempt that nobody has deleted: a Job that is being deleted is made again, and all
// of its workers run again.
func (s *scope) currentJobs() []*batchv1.Job {
	sorted := policy.SortJobs(s.jobs, &s.js.Status, s.epoch)
	var jobs []*batchv1.Job
	for _, job := range slices.Concat(sorted.Active, sorted.Succeeded, sorted.Failed) {
		if job.DeletionTimestamp.IsZero() {
			jobs = append(jobs, job)
		}
	}
	return jobs
}

// isOf tells whether a pod is of a Job. Annotations can say so of any pod; the controller reference says whose it is.
func isOf(pod *corev1.Pod, job *batchv1.Job) bool {
	return job != nil && ownerOf(pod) == job.UID
}

func ownerOf(obj metav1.Object) types.UID {
	if owner := metav1.GetControllerOf(obj); owner != nil {
		return owner.UID
	}
	return ""
}
