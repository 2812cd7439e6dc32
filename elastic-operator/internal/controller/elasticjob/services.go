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

// ensureServices creates a service for each worker that is desired or has a pod, and deletes the others.
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
		if !d.Services.Has(index) && service.UID != "" && service.DeletionTimestamp == nil {
			surplus = append(surplus, service)
		}
	}
	return errors.Join(
		inParallel(ctx, missing, func(ctx context.Context, index int) error {
			err := r.createService(ctx, s.job, plan.WorkerService(s.job, index))
			if err == nil {
				r.expectations.serviceCreated(s.job.UID, index)
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
		r.normal(job, service, reasonCreatedService, actionCreate, "Created service: "+name)
		return nil
	case apierrors.IsAlreadyExists(err):
		_, err := r.checkOwner(ctx, job, "Service", name, reasonFailedCreateService)
		return err
	}
	r.warn(job, reasonFailedCreateService, actionCreate, fmt.Sprintf("Error creating service %s: %v", name, err))
	return fmt.Errorf("creating service %s: %w", name, err)
}

func (r *Reconciler) deleteService(ctx context.Context, job *v1alpha1.ElasticJob, service *corev1.Service) error {
	err := r.Client.Delete(ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: service.Namespace, Name: service.Name}},
		client.Preconditions{UID: ptr.To(service.UID)})
	switch {
	case apierrors.IsNotFound(err) || apierrors.IsConflict(err):
		return nil
	case err != nil:
		r.warn(job, reasonFailedDeleteService, actionDelete, fmt.Sprintf("Error deleting service %s: %v", service.Name, err))
		return fmt.Errorf("deleting service %s: %w", service.Name, err)
	}
	r.normal(job, service, reasonDeletedService, actionDelete, "Deleted service: "+service.Name)
	return nil
}
