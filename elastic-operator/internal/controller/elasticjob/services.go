package elasticjob

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/plan"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/policy"
)

// ensureServices makes a service for each worker that is wanted or has a pod, and removes the others.
func (r *Reconciler) ensureServices(ctx context.Context, s *scope, d *policy.Decision) error {
	if d.LeaveServices {
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
		if !d.Services.Has(index) && service.UID != "" && service.DeletionTimestamp == nil {
			surplus = append(surplus, service)
		}
	}
	return errors.Join(
		inParallel(ctx, missing, func(ctx context.Context, index int) error {
			err := r.createService(ctx, s.job, plan.WorkerService(s.job, index))
			if err == nil {
				r.expected.serviceCreated(s.job.UID, index)
			}
			return err
		}),
		inParallel(ctx, surplus, func(ctx context.Context, service *corev1.Service) error { return r.deleteService(ctx, s.job, service) }),
	)
}

func (r *Reconciler) createService(ctx context.Context, job *v1alpha1.ElasticJob, service *corev1.Service) error {
	name := service.Name
	err := r.Client.Create(ctx, service)
	switch {
	case err == nil:
		r.tell(job, service, reasonCreatedService, actionCreate, "Created service: %s", name)
		return nil
	case apierrors.IsAlreadyExists(err):
		there := &metav1.PartialObjectMetadata{}
		there.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Service"))
		return r.checkOwner(ctx, job, there, client.ObjectKeyFromObject(service), reasonFailedCreateService)
	}
	r.warn(job, reasonFailedCreateService, actionCreate, "Error creating service %s: %v", name, err)
	return fmt.Errorf("creating service %s: %w", name, err)
}

func (r *Reconciler) deleteService(ctx context.Context, job *v1alpha1.ElasticJob, service *corev1.Service) error {
	err := r.Client.Delete(ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: service.Namespace, Name: service.Name}},
		client.Preconditions{UID: ptr.To(service.UID)})
	switch {
	case apierrors.IsNotFound(err) || apierrors.IsConflict(err):
		return nil
	case err != nil:
		r.warn(job, reasonFailedDeleteService, actionDelete, "Error deleting service %s: %v", service.Name, err)
		return fmt.Errorf("deleting service %s: %w", service.Name, err)
	}
	r.tell(job, service, reasonDeletedService, actionDelete, "Deleted service: %s", service.Name)
	return nil
}
