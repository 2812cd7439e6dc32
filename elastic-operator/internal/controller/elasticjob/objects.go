package elasticjob

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/plan"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/policy"
	"github.com/holdfast-project/holdfast/shared/bootstrap/requeue"
	"github.com/holdfast-project/holdfast/shared/series"
)

// maxParallel limits the concurrent API calls for one job.
const maxParallel = 16

// inParallel calls do for each item and returns the first error. It continues after errors, so that one item that always fails does not
// block the others. After maxParallel errors it stops, because the API server is probably unavailable.
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
		return r.delete(ctx, s.job, s.pods[deletion.Index], ofPods, deletion.Force)
	})
}

func (r *Reconciler) createPods(ctx context.Context, s *scope, d *policy.Decision) error {
	return inParallel(ctx, d.Create, func(ctx context.Context, index int) error {
		pod := plan.WorkerPod(s.job, index, d.Status.Resumes)
		r.Agents.Supervise(s.job, pod, index, d.Status.Resumes)
		return r.create(ctx, s.job, pod, ofPods)
	})
}

// ensureServices creates a service for each worker that is desired or has a pod, and deletes all other services.
func (r *Reconciler) ensureServices(ctx context.Context, s *scope, d *policy.Decision) error {
	if d.KeepServices {
		return nil
	}
	var missing []int
	for _, index := range d.Services {
		if s.services[index] == nil && d.Memory.Ended == "" {
			missing = append(missing, index)
		}
	}
	var surplus []*corev1.Service
	for index, service := range s.services {
		if !d.Services.Has(index) && service.DeletionTimestamp == nil {
			surplus = append(surplus, service)
		}
	}
	return errors.Join(
		inParallel(ctx, missing, func(ctx context.Context, index int) error {
			return r.create(ctx, s.job, plan.WorkerService(s.job, index), ofServices)
		}),
		inParallel(ctx, surplus, func(ctx context.Context, service *corev1.Service) error {
			return r.delete(ctx, s.job, service, ofServices, false)
		}),
	)
}

// create creates an object, unless the job already has one with this name.
func (r *Reconciler) create(ctx context.Context, job *v1alpha1.ElasticJob, o client.Object, k reasons) error {
	name := o.GetName()
	err := r.Client.Create(ctx, o)
	switch {
	case err == nil:
		r.emit(job, o, corev1.EventTypeNormal, k.created, "Created "+k.noun+": "+name)
		if k == ofPods {
			r.Metrics.Inc(series.ElasticPodsCreated)
		}
		r.delay(writtenJob(job.UID), requeue.Stale)
		return nil
	case apierrors.IsAlreadyExists(err):
		return r.checkOwner(ctx, job, k, name)
	}
	r.emit(job, nil, corev1.EventTypeWarning, k.failedCreate, fmt.Sprintf("Error creating %s %s: %v", k.noun, name, err))
	return fmt.Errorf("creating %s %s: %w", k.noun, name, err)
}

// delete deletes the object with this UID, without a grace period if forced.
func (r *Reconciler) delete(ctx context.Context, job *v1alpha1.ElasticJob, o client.Object, k reasons, force bool) error {
	options := []client.DeleteOption{client.Preconditions{UID: ptr.To(o.GetUID())}}
	if force {
		options = append(options, client.GracePeriodSeconds(0))
	}
	err := r.Client.Delete(ctx, o, options...)
	switch {
	case err == nil:
		r.emit(job, o, corev1.EventTypeNormal, k.deleted, "Deleted "+k.noun+": "+o.GetName())
	case !apierrors.IsNotFound(err) && !apierrors.IsConflict(err): // the object has neither been deleted nor replaced
		r.emit(job, nil, corev1.EventTypeWarning, k.failedDelete, fmt.Sprintf("Error deleting %s %s: %v", k.noun, o.GetName(), err))
		return fmt.Errorf("deleting %s %s: %w", k.noun, o.GetName(), err)
	}
	r.delay(writtenJob(job.UID), requeue.Stale)
	return nil
}

// checkOwner returns an error if the job does not control the object that already has the given name.
func (r *Reconciler) checkOwner(ctx context.Context, job *v1alpha1.ElasticJob, k reasons, name string) error {
	existing := &metav1.PartialObjectMetadata{}
	existing.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(k.kind))
	if err := r.Live.Get(ctx, client.ObjectKey{Namespace: job.Namespace, Name: name}, existing); err != nil {
		return client.IgnoreNotFound(err)
	}
	if metav1.IsControlledBy(existing, job) {
		return nil
	}
	err := fmt.Errorf("%s %s already exists and is not controlled by this ElasticJob", k.kind, name)
	r.emit(job, nil, corev1.EventTypeWarning, k.failedCreate, err.Error())
	return err
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
