package appwrapper

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/plan"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/podset"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/bootstrap/requeue"
)

// create creates the missing components in order. It first records their names in the status, so that a crash never leaves behind an object
// that is not recorded. The outcome is passed to the policy; an error means that there is no outcome.
func (r *Reconciler) create(ctx context.Context, s *scope) (policy.Outcome, error) {
	objects, outcome, err := r.build(ctx, s)
	if err != nil || outcome.Err != "" {
		return outcome, err
	}
	fresh, err := r.announce(ctx, s, objects)
	if err != nil {
		return policy.Outcome{}, err
	}
	for i, object := range objects {
		cs := &s.status.ComponentStatus[i]
		if meta.IsStatusConditionTrue(cs.Conditions, string(v1beta2.ResourcesDeployed)) {
			continue
		}
		if outcome := r.createOne(ctx, s.aw, object); outcome.Err != "" {
			setComponent(cs, v1beta2.ResourcesDeployed, false, v1beta2.ReasonComponentCreationErrored, outcome.Err)
			if outcome.Refused {
				s.markNotCreated(fresh, i, outcome.Err)
			}
			return outcome, nil
		}
		setComponent(cs, v1beta2.ResourcesDeployed, true, v1beta2.ReasonComponentCreatedSuccessfully, "")
	}
	return policy.Outcome{}, nil
}

// markNotCreated records that the API server rejected a component and that later ones were not attempted. The removal then skips these
// components, which the controller may not be allowed to read.
func (s *scope) markNotCreated(fresh []bool, from int, why string) {
	for i := from; i < len(fresh); i++ {
		if fresh[i] {
			setComponent(&s.status.ComponentStatus[i], v1beta2.ResourcesDeployed, false, v1beta2.ReasonComponentCreationRefused, why)
		}
	}
}

// build returns the objects to create, with affinities that avoid bad nodes.
func (r *Reconciler) build(ctx context.Context, s *scope) ([]*unstructured.Unstructured, policy.Outcome, error) {
	if len(s.status.ComponentStatus) != len(s.aw.Spec.Components) {
		return nil, policy.Outcome{Err: "components were added or removed after the first ones had been created", Fatal: true}, nil
	}
	var nodes corev1.NodeList
	if r.Config.Autopilot.InjectAntiAffinities {
		if err := r.Client.List(ctx, &nodes, client.UnsafeDisableDeepCopy); err != nil {
			return nil, policy.Outcome{}, fmt.Errorf("listing nodes: %w", err)
		}
	}
	options := plan.Options{SchedulerName: r.Config.SchedulerName, Placement: func(requests map[corev1.ResourceName]bool) plan.Placement {
		return r.avoid(s, nodes.Items, requests)
	}}
	var objects []*unstructured.Unstructured
	for i := range s.aw.Spec.Components {
		object, err := plan.Component(s.aw, i, attemptNumber(&s.aw.Status), options)
		if err != nil {
			return nil, policy.Outcome{Err: fmt.Sprintf("component %d: %v", i, err), Fatal: true}, nil
		}
		if name := s.status.ComponentStatus[i].Name; name != "" && s.announced(i) {
			object.SetName(name)
		}
		objects = append(objects, object)
	}
	return objects, policy.Outcome{}, nil
}

// announced reports whether the component's name was recorded in this attempt, possibly by the upstream controller.
func (s *scope) announced(i int) bool {
	c := meta.FindStatusCondition(s.status.ComponentStatus[i].Conditions, string(v1beta2.ResourcesDeployed))
	return c != nil && (c.Status != metav1.ConditionFalse || c.Reason == v1beta2.ReasonComponentCreationErrored)
}

// announce records the names of the objects before they are created. fresh is true for each object that no earlier reconcile has announced.
func (r *Reconciler) announce(ctx context.Context, s *scope, objects []*unstructured.Unstructured) (fresh []bool, err error) {
	for i, object := range objects {
		cs := &s.status.ComponentStatus[i]
		fresh = append(fresh, !s.announced(i))
		if !fresh[i] && cs.Name != "" {
			continue
		}
		if err := r.adoptUnnamed(ctx, s, i, object); err != nil {
			return nil, err
		}
		cs.Name, cs.Kind, cs.APIVersion = object.GetName(), object.GetKind(), object.GetAPIVersion()
		meta.SetStatusCondition(&cs.Conditions, metav1.Condition{
			Type: string(v1beta2.ResourcesDeployed), Status: metav1.ConditionUnknown, Reason: v1beta2.ReasonComponentCreationInitiated,
		})
	}
	return fresh, r.patchStatus(ctx, s)
}

// adoptUnnamed finds an object that the upstream controller created with a generated name but did not record. Such an object is found by
// its owner reference.
func (r *Reconciler) adoptUnnamed(ctx context.Context, s *scope, i int, object *unstructured.Unstructured) error {
	template, err := podset.Decode(&s.aw.Spec.Components[i])
	if err != nil || template.GetName() != "" || !s.announced(i) {
		return nil
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(object.GroupVersionKind().GroupVersion().WithKind(object.GetKind() + "List"))
	err = r.Live.List(ctx, list, client.InNamespace(s.aw.Namespace), client.MatchingLabels{v1beta2.AppWrapperLabel: object.GetLabels()[v1beta2.AppWrapperLabel]})
	if err != nil {
		return fmt.Errorf("listing %s objects of an earlier controller: %w", object.GetKind(), err)
	}
	for _, item := range list.Items {
		if metav1.IsControlledBy(&item, s.aw) && item.GetDeletionTimestamp() == nil && item.GetGenerateName() == template.GetGenerateName() {
			object.SetName(item.GetName())
			return nil
		}
	}
	return nil
}

// createOne creates an object, or adopts an existing one.
func (r *Reconciler) createOne(ctx context.Context, aw *v1beta2.AppWrapper, object *unstructured.Unstructured) policy.Outcome {
	ref := referenceTo(object)
	err := r.Client.Create(ctx, object.DeepCopy())
	switch {
	case err == nil:
		return policy.Outcome{}
	case apierrors.IsAlreadyExists(err):
		return r.takeOver(ctx, aw, ref)
	}
	fatal := meta.IsNoMatchError(err) || apierrors.IsInvalid(err)
	return policy.Outcome{Err: fmt.Sprintf("creating %s: %v", ref, err), Fatal: fatal, Refused: apierrors.IsForbidden(err)}
}

// takeOver adopts an existing object if it is controlled by this AppWrapper. If the object is being deleted, or belongs to an earlier
// AppWrapper with the same name, the creation is retried.
func (r *Reconciler) takeOver(ctx context.Context, aw *v1beta2.AppWrapper, ref reference) policy.Outcome {
	object := ref.metadata()
	if err := r.Live.Get(ctx, ref.NamespacedName, object); err != nil {
		return policy.Outcome{Err: fmt.Sprintf("%s exists, but could not be read: %v", ref, err)}
	}
	owner := requeue.Controller(object, kind)
	switch {
	case object.DeletionTimestamp == nil && metav1.IsControlledBy(object, aw):
		return policy.Outcome{}
	case object.DeletionTimestamp != nil, owner != nil && owner.Name == aw.Name:
		return policy.Outcome{Err: fmt.Sprintf("an earlier %s has not been deleted yet", ref)}
	}
	return policy.Outcome{Err: fmt.Sprintf("%s exists, but is not controlled by this AppWrapper", ref), Fatal: true}
}

func referenceTo(object *unstructured.Unstructured) reference {
	return reference{object.GroupVersionKind(), types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}}
}

// reference returns the reference to a component's object that is recorded in the status. The name is empty if nothing was created.
func (s *scope) reference(i int) reference {
	cs := &s.status.ComponentStatus[i]
	return reference{
		schema.FromAPIVersionAndKind(cs.APIVersion, cs.Kind), types.NamespacedName{Namespace: s.aw.Namespace, Name: cs.Name},
	}
}

// withUID restricts a deletion to this object, so that a later object with the same name is not deleted.
func withUID(object metav1.Object) client.Preconditions {
	return client.Preconditions{UID: new(object.GetUID())}
}

// deleteComponents deletes the remaining objects in the background. If forced, it also skips their grace period. A failed deletion does not
// prevent the others.
func (r *Reconciler) deleteComponents(ctx context.Context, s *scope, force bool) error {
	var errs []error
	for i, c := range s.components {
		if c.presence != policy.Absent && (c.presence != policy.Terminating || force) {
			errs = append(errs, r.deleteComponent(ctx, s, i, force))
		}
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
	err := r.kinds.classify(ctx, c.ref.GroupVersionKind, r.Client.Delete(ctx, c.ref.metadata(), options...))
	switch {
	case err == nil, apierrors.IsConflict(err): // a conflict means that the object was replaced
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

func (s *scope) refused(name, why string) {
	s.deletionRefused = true
	for i := range s.facts.Remains {
		if s.facts.Remains[i].Name == name {
			s.facts.Remains[i].Blocked = why
		}
	}
}

// forcePods deletes the remaining pods without a grace period.
func (r *Reconciler) forcePods(ctx context.Context, s *scope) error {
	var errs []error
	for _, pod := range s.pods {
		if pod.DeletionTimestamp != nil && ptr.Deref(pod.DeletionGracePeriodSeconds, 1) == 0 {
			continue // already deleted without a grace period, so only finalizers can still keep it
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
