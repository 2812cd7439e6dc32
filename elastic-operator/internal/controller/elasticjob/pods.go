package elasticjob

import (
	"context"
	"fmt"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/plan"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/policy"
)

// maxParallel limits the concurrent API calls for one job.
const maxParallel = 16

// inParallel calls do for each item and returns the first error. It continues after errors, so one item that always fails does not block
// the others. After maxParallel errors it stops, because the API server is probably unavailable.
func inParallel[T any](ctx context.Context, items []T, do func(context.Context, T) error) error {
	var group errgroup.Group
	var failed atomic.Int32
	group.SetLimit(maxParallel)
	for _, item := range items {
		group.Go(func() error {
			if failed.Load() >= maxParallel {
				return nil
			}
			err := do(ctx, item)
			if err != nil {
				failed.Add(1)
			}
			return err
		})
	}
	return group.Wait()
}

func (r *Reconciler) deletePods(ctx context.Context, s *scope, d *policy.Decision) error {
	return inParallel(ctx, d.Delete, func(ctx context.Context, deletion policy.Deletion) error {
		pod := s.pods[deletion.Index]
		if pod == nil || pod.UID != deletion.UID {
			return nil // it was just created and is not in the cache yet
		}
		return r.deletePod(ctx, s.job, pod, deletion.Force)
	})
}

// deletePod deletes the pod with this UID.
func (r *Reconciler) deletePod(ctx context.Context, job *v1alpha1.ElasticJob, pod *corev1.Pod, force bool) error {
	options := &client.DeleteOptions{Preconditions: &metav1.Preconditions{UID: ptr.To(pod.UID)}}
	if force {
		options.GracePeriodSeconds = ptr.To(int64(0))
	}
	err := r.Client.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}, options)
	switch {
	case apierrors.IsNotFound(err) || apierrors.IsConflict(err):
		return nil // the pod no longer exists, or another pod has its name
	case err != nil:
		r.warn(job, reasonFailedDeletePod, actionDelete, fmt.Sprintf("Error deleting pod %s: %v", pod.Name, err))
		return fmt.Errorf("deleting pod %s: %w", pod.Name, err)
	}
	r.expectations.podDeleted(job.UID, pod.UID)
	r.normal(job, pod, reasonDeletedPod, actionDelete, "Deleted pod: "+pod.Name)
	return nil
}

func (r *Reconciler) createPods(ctx context.Context, s *scope, d *policy.Decision) error {
	return inParallel(ctx, d.Create, func(ctx context.Context, index int) error {
		pod := plan.WorkerPod(s.job, index, d.Memory.Resumes)
		r.Agents.Supervise(s.job, pod, index, d.Memory.Resumes)
		uid, err := r.createPod(ctx, s.job, pod)
		if err == nil && uid != "" {
			r.expectations.podCreated(s.job.UID, index, uid)
		}
		return err
	})
}

// createPod creates a pod and returns its UID. If the job already has a pod of this name, it returns that pod's UID.
func (r *Reconciler) createPod(ctx context.Context, job *v1alpha1.ElasticJob, pod *corev1.Pod) (types.UID, error) {
	name := pod.Name
	err := r.Client.Create(ctx, pod)
	switch {
	case err == nil:
		r.normal(job, pod, reasonCreatedPod, actionCreate, "Created pod: "+name)
		r.Metrics.created.Inc()
		return pod.UID, nil
	case apierrors.IsAlreadyExists(err):
		return r.checkOwner(ctx, job, "Pod", name, reasonFailedCreatePod)
	}
	r.warn(job, reasonFailedCreatePod, actionCreate, fmt.Sprintf("Error creating pod %s: %v", name, err))
	return "", fmt.Errorf("creating pod %s: %w", name, err)
}

// checkOwner returns the UID of an existing object with the name of one to create. It is an error if the job does not control the object.
func (r *Reconciler) checkOwner(ctx context.Context, job *v1alpha1.ElasticJob, kind, name, reason string) (types.UID, error) {
	existing := &metav1.PartialObjectMetadata{}
	existing.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
	if err := r.Live.Get(ctx, client.ObjectKey{Namespace: job.Namespace, Name: name}, existing); err != nil {
		return "", client.IgnoreNotFound(err)
	}
	if owner(existing) == job.UID {
		return existing.UID, nil
	}
	err := fmt.Errorf("%s %s already exists and is not controlled by this ElasticJob", kind, name)
	r.warn(job, reason, actionCreate, err.Error())
	return "", err
}

// removeJob deletes a job whose ttlSecondsAfterFinished has passed.
func (r *Reconciler) removeJob(ctx context.Context, job *v1alpha1.ElasticJob) error {
	err := r.Client.Delete(ctx, job, client.Preconditions{UID: ptr.To(job.UID), ResourceVersion: ptr.To(job.ResourceVersion)},
		client.PropagationPolicy(metav1.DeletePropagationBackground))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting the ElasticJob after ttlSecondsAfterFinished: %w", err)
	}
	return nil
}
