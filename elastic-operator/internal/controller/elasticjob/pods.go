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

// atOnce is how many calls are made for one job at a time.
const atOnce = 16

// inParallel calls do for each item. One that fails keeps no other from being done, or the same pod would hold up the rest in every reconcile.
// When atOnce of them have failed the reason is a larger one, and the rest is left for the next reconcile. The first error is returned.
func inParallel[T any](ctx context.Context, items []T, do func(context.Context, T) error) error {
	var group errgroup.Group
	var failed atomic.Int32
	group.SetLimit(atOnce)
	for _, item := range items {
		group.Go(func() error {
			if failed.Load() >= atOnce {
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
	return inParallel(ctx, d.Delete, func(ctx context.Context, gone policy.Deletion) error {
		pod := s.pods[gone.Index]
		if pod == nil || pod.UID != gone.UID {
			return nil // it was created a moment ago; the cache will show it
		}
		return r.deletePod(ctx, s.job, pod, gone.Force)
	})
}

// deletePod deletes exactly this pod.
func (r *Reconciler) deletePod(ctx context.Context, job *v1alpha1.ElasticJob, pod *corev1.Pod, force bool) error {
	options := &client.DeleteOptions{Preconditions: &metav1.Preconditions{UID: ptr.To(pod.UID)}}
	if force {
		options.GracePeriodSeconds = ptr.To(int64(0))
	}
	err := r.Client.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}, options)
	switch {
	case apierrors.IsNotFound(err) || apierrors.IsConflict(err):
		return nil // it is gone, and perhaps another has its name
	case err != nil:
		r.warn(job, reasonFailedDeletePod, actionDelete, "Error deleting pod %s: %v", pod.Name, err)
		return fmt.Errorf("deleting pod %s: %w", pod.Name, err)
	}
	r.expected.podDeleted(job.UID, pod.UID)
	r.tell(job, pod, reasonDeletedPod, actionDelete, "Deleted pod: %s", pod.Name)
	return nil
}

func (r *Reconciler) createPods(ctx context.Context, s *scope, d *policy.Decision) error {
	return inParallel(ctx, d.Create, func(ctx context.Context, index int) error {
		pod := plan.WorkerPod(s.job, index, d.Memory.Resumes)
		r.Agents.Supervise(s.job, pod, index, d.Memory.Resumes)
		uid, err := r.createPod(ctx, s.job, pod)
		if err == nil && uid != "" {
			r.expected.podCreated(s.job.UID, index, uid)
		}
		return err
	})
}

// createPod creates a pod, or finds that it is there.
func (r *Reconciler) createPod(ctx context.Context, job *v1alpha1.ElasticJob, pod *corev1.Pod) (types.UID, error) {
	name := pod.Name
	err := r.Client.Create(ctx, pod)
	switch {
	case err == nil:
		r.tell(job, pod, reasonCreatedPod, actionCreate, "Created pod: %s", name)
		r.Metrics.created.Inc()
		return pod.UID, nil
	case apierrors.IsAlreadyExists(err):
		there := &metav1.PartialObjectMetadata{}
		there.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
		return there.UID, r.checkOwner(ctx, job, there, client.ObjectKeyFromObject(pod), reasonFailedCreatePod)
	}
	r.warn(job, reasonFailedCreatePod, actionCreate, "Error creating pod %s: %v", name, err)
	return "", fmt.Errorf("creating pod %s: %w", name, err)
}

// checkOwner reads what exists under the name of an object that was to be created. Another's is left alone.
func (r *Reconciler) checkOwner(ctx context.Context, job *v1alpha1.ElasticJob, there *metav1.PartialObjectMetadata, key client.ObjectKey, reason string) error {
	kind := there.Kind
	if err := r.Live.Get(ctx, key, there); err != nil {
		return client.IgnoreNotFound(err)
	}
	if owner(there) == job.UID {
		return nil
	}
	r.warn(job, reason, actionCreate, "%s %s exists and belongs to somebody else", kind, key.Name)
	return fmt.Errorf("%s %s exists and belongs to somebody else", kind, key.Name)
}

// removeJob whose time after its end is over.
func (r *Reconciler) removeJob(ctx context.Context, job *v1alpha1.ElasticJob) error {
	err := r.Client.Delete(ctx, job, client.Preconditions{UID: ptr.To(job.UID), ResourceVersion: ptr.To(job.ResourceVersion)},
		client.PropagationPolicy(metav1.DeletePropagationBackground))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting the ElasticJob after ttlSecondsAfterFinished: %w", err)
	}
	return nil
}
