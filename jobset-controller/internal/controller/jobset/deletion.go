package jobset

import (
	"context"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/nodes"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/parallel"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/bootstrap/requeue"
)

// deletePrevious deletes the Jobs replaced by a restart or full recreation that has been recorded.
func (r *Reconciler) deletePrevious(ctx context.Context, s *scope) (ctrl.Result, error) {
	return r.updateJobs(s, "replaced jobs have not been deleted yet", func() error { return r.deleteJobs(ctx, s, s.Jobs.Previous) })
}

// deleteRemaining deletes the running Jobs of a finished JobSet. It keeps finished Jobs, so that their logs remain
// available.
func (r *Reconciler) deleteRemaining(ctx context.Context, s *scope) (ctrl.Result, error) {
	spares, later := s.leftSpares(r.Clock.Now())
	running := slices.DeleteFunc(slices.Concat(s.Jobs.Previous, s.Jobs.Active, spares), policy.Finished)
	again, err := r.updateJobs(s, "jobs that are still running have not been deleted yet", func() error { return r.deleteJobs(ctx, s, running) })
	return soonest(again, later), err
}

// deleteJobs uses foreground deletion: the Job exists until its pods are gone. Its successor, which has the same name
// and the same pod names, is created after that.
func (r *Reconciler) deleteJobs(ctx context.Context, s *scope, jobs []*batchv1.Job) error {
	return parallel.Do(ctx, jobs, func(ctx context.Context, job *batchv1.Job) error {
		if !job.DeletionTimestamp.IsZero() {
			return nil
		}
		err := r.Client.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationForeground), client.Preconditions{UID: &job.UID})
		return r.jobWritten(s.jobSet, "deleting", job, err)
	})
}

func (r *Reconciler) expire(ctx context.Context, s *scope) (ctrl.Result, error) {
	ttl := s.jobSet.Spec.TTLSecondsAfterFinished
	if ttl == nil {
		return ctrl.Result{}, nil
	}
	left := s.finishedAt().Add(time.Duration(*ttl) * time.Second).Sub(r.Clock.Now())
	if left > 0 {
		return ctrl.Result{RequeueAfter: left}, nil
	}
	// The preconditions make a live read unnecessary.
	asObserved := client.Preconditions{UID: &s.jobSet.UID, ResourceVersion: &s.jobSet.ResourceVersion}
	if err := r.Client.Delete(ctx, s.jobSet, client.PropagationPolicy(metav1.DeletePropagationForeground), asObserved); err != nil {
		return requeue.OnError(fmt.Errorf("deleting the expired JobSet: %w", err))
	}
	return ctrl.Result{}, nil
}

func (s *scope) finishedAt() time.Time {
	for _, c := range s.jobSet.Status.Conditions {
		if (c.Type == string(v1alpha2.JobSetCompleted) || c.Type == string(v1alpha2.JobSetFailed)) && c.Status == metav1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// stuckPodInterval is how often the node of an overdue pod is read. Nodes are not watched for this.
const stuckPodInterval = 5 * time.Second

// releaseStuckPods deletes pods that would remain Terminating forever because their node is dead. A deleted Job exists
// until its pods are gone, and its successor waits for that. It lists the pods only if the JobSet sets a timeout and
// some of its Jobs are terminating. Even then, it lists them only every few seconds, because each of thousands of Jobs
// causes an event while it is being deleted.
func (r *Reconciler) releaseStuckPods(ctx context.Context, s *scope) (ctrl.Result, error) {
	timeout := policy.StuckPodTimeout(s.jobSet.Annotations, &field.ErrorList{})
	if timeout == 0 {
		return ctrl.Result{}, nil
	}
	owners := s.terminating()
	if len(owners) == 0 {
		return ctrl.Result{}, nil
	}
	if wait, _ := r.notBefore.wait(s.jobSet, taskStuckPods); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	var pods corev1.PodList
	err := r.Live.List(ctx, &pods, client.InNamespace(s.jobSet.Namespace), client.MatchingLabels{v1alpha2.JobSetNameKey: s.jobSet.Name})
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("listing pods that may be stuck: %w", err)
	}
	next := ctrl.Result{RequeueAfter: timeout}
	var overdue []*corev1.Pod
	for i := range pods.Items {
		pod := &pods.Items[i]
		owner := metav1.GetControllerOf(pod)
		if owner == nil || !owners[owner.UID] || pod.DeletionTimestamp.IsZero() {
			continue
		}
		left := pod.DeletionTimestamp.Add(timeout).Sub(r.Clock.Now()) // the deletion timestamp is the end of the grace period
		if left <= 0 {
			left, overdue = stuckPodInterval, append(overdue, pod)
		}
		next = soonest(next, ctrl.Result{RequeueAfter: left})
	}
	r.notBefore.set(s.jobSet, taskStuckPods, min(next.RequeueAfter, stuckPodInterval))
	return next, parallel.Do(ctx, overdue, func(ctx context.Context, pod *corev1.Pod) error { return r.releasePod(ctx, s, pod, timeout) })
}

// terminating returns the UIDs of the Jobs that may have terminating pods.
func (s *scope) terminating() map[types.UID]bool {
	owners := map[types.UID]bool{}
	for _, job := range slices.Concat(s.Jobs.Previous, s.Jobs.Active, s.Jobs.Failed, s.Jobs.Spares) {
		c := policy.FailureOf(job)
		failing := c != nil && c.Type == batchv1.JobFailureTarget // the Job is waiting for its pods to terminate
		if !job.DeletionTimestamp.IsZero() || ptr.Deref(job.Status.Terminating, 0) > 0 || failing {
			owners[job.UID] = true
		}
	}
	return owners
}

// releasePod deletes a pod if its node is known to be dead.
func (r *Reconciler) releasePod(ctx context.Context, s *scope, pod *corev1.Pod, timeout time.Duration) error {
	if pod.Spec.NodeName == "" {
		return nil // a pod that was never bound does not wait for a node
	}
	node := &corev1.Node{}
	if err := r.Live.Get(ctx, client.ObjectKey{Name: pod.Spec.NodeName}, node); apierrors.IsNotFound(err) {
		node = nil
	} else if err != nil {
		return fmt.Errorf("getting node %s: %w", pod.Spec.NodeName, err)
	}
	evidence := nodes.Dead(node, timeout, r.Clock.Now())
	if evidence == "" {
		return nil
	}
	err := r.Client.Delete(ctx, pod, client.GracePeriodSeconds(0), client.Preconditions{UID: &pod.UID})
	if err := ignoreNotFound("deleting stuck pod "+pod.Name, err); err != nil {
		return err
	}
	r.warn(s.jobSet, podReleased, fmt.Sprintf("pod %s was deleted without waiting for its containers: it should have terminated by %s, and %s",
		pod.Name, pod.DeletionTimestamp.UTC().Format(time.RFC3339), evidence))
	return nil
}
