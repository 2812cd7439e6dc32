package appwrapper

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/policy"
)

// withUID restricts a deletion to this object, not a later one of the same name.
func withUID(object metav1.Object) client.Preconditions {
	return client.Preconditions{UID: new(object.GetUID())}
}

// deleteComponents deletes the remaining objects in the background. If forced, it also skips their grace period. A failed deletion does not
// stop the others.
func (r *Reconciler) deleteComponents(ctx context.Context, s *scope, force bool) error {
	var errs []error
	for i, c := range s.components {
		if s.isGone(i) {
			continue
		}
		if c.presence == policy.Absent || (c.presence == policy.Terminating && !force) {
			continue
		}
		errs = append(errs, r.deleteComponent(ctx, s, i, force))
	}
	return errors.Join(errs...)
}

func (r *Reconciler) deleteComponent(ctx context.Context, s *scope, i int, force bool) error {
	c := s.components[i]
	options := []client.DeleteOption{client.PropagationPolicy(metav1.DeletePropagationBackground)}
	if c.meta != nil {
		options = append(options, withUID(c.meta))
	}
	if force {
		options = append(options, client.GracePeriodSeconds(0))
	}
	err := r.Client.Delete(ctx, c.ref.metadata(), options...)
	if err != nil {
		err = r.kinds.classify(ctx, c.ref.GroupVersionKind, err)
	}
	switch {
	case err == nil, apierrors.IsConflict(err): // also if the object was replaced
		return nil
	case errors.Is(err, errKindGone), apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		setComponent(&s.status.ComponentStatus[i], v1beta2.ResourcesDeployed, false, v1beta2.ReasonComponentDeleted, "")
		return nil
	case apierrors.IsForbidden(err):
		s.refused(c.ref.String(), notAllowed)
		return nil
	}
	s.refused(c.ref.String(), err.Error())
	return fmt.Errorf("deleting %s: %w", c.ref, err)
}

const notAllowed = "the controller is not allowed to delete it"

// refused records why an object could not be deleted.
func (s *scope) refused(name, why string) {
	s.deletionRefused = true
	for i := range s.facts.Remains {
		if s.facts.Remains[i].Name == name {
			s.facts.Remains[i].Blocked = why
		}
	}
}

// wasForced reports whether the pod was already deleted without a grace period. Only finalizers keep such a pod.
func wasForced(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp != nil && pod.DeletionGracePeriodSeconds != nil && *pod.DeletionGracePeriodSeconds == 0
}

// forcePods deletes the remaining pods without a grace period.
func (r *Reconciler) forcePods(ctx context.Context, s *scope) error {
	var errs []error
	for _, pod := range s.pods {
		if wasForced(pod) {
			continue
		}
		err := r.Client.Delete(ctx, pod, client.GracePeriodSeconds(0), withUID(pod))
		switch {
		case err == nil, apierrors.IsNotFound(err), apierrors.IsConflict(err):
		case apierrors.IsForbidden(err):
			s.refused(podName(pod), notAllowed)
		default:
			errs = append(errs, fmt.Errorf("deleting pod %s by force: %w", pod.Name, err))
		}
	}
	return errors.Join(errs...)
}
