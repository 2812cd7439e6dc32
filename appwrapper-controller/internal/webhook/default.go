package webhook

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	authorization "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/podset"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/review"
)

// Default sets the queue, the user labels and the pod sets of kinds that Kueue does not know, and signs the AppWrapper if the user may
// create all components.
func (w appWrappers) Default(ctx context.Context, aw *v1beta2.AppWrapper) error {
	request, err := admission.RequestFromContext(ctx)
	if err != nil {
		return err
	}
	if aw.Labels == nil {
		aw.Labels = map[string]string{}
	}
	if _, queued := aw.Labels[v1beta2.QueueLabel]; !queued && w.queue != "" {
		aw.Labels[v1beta2.QueueLabel] = w.queue
	}
	aw.Labels[v1beta2.UserLabel] = labelValue(request.UserInfo.Username)
	aw.Labels[v1beta2.UserIDLabel] = labelValue(request.UserInfo.UID)
	declare(aw)
	delete(aw.Annotations, review.Annotation)
	if w.access == nil || !w.mayCreate(ctx, request.UserInfo, aw) {
		return nil // the validation reports what is not allowed
	}
	return w.reviews.Stamp(aw, time.Now())
}

// mayCreate reports whether the user may create all components.
func (w appWrappers) mayCreate(ctx context.Context, user authenticationv1.UserInfo, aw *v1beta2.AppWrapper) bool {
	for i := range aw.Spec.Components {
		object, err := podset.Decode(&aw.Spec.Components[i])
		if err != nil || w.access.check(ctx, user, aw.Namespace, object.GroupVersionKind(), componentsPath.Index(i)) != nil {
			return false
		}
	}
	return true
}

// declare adds missing pod sets. It skips invalid components, which the validation reports.
func declare(aw *v1beta2.AppWrapper) {
	for i := range aw.Spec.Components {
		c := &aw.Spec.Components[i]
		if len(c.DeclaredPodSets) > 0 {
			continue
		}
		object, err := podset.Decode(c)
		if err != nil {
			continue
		}
		if sets, err := podset.Declare(object); err == nil && len(sets) > 0 {
			c.DeclaredPodSets = sets
		}
	}
}

var notInLabels = regexp.MustCompile(`[^-_.a-zA-Z0-9]`)

// labelValue converts a name to a valid label value of at most 63 bytes.
func labelValue(name string) string {
	const longest = 63
	return strings.Trim(notInLabels.ReplaceAllString(name[:min(len(name), longest)], "_"), "-_.")
}

// access checks whether users may create the components. The controller may create them, and must not let users bypass their own
// permissions.
type access struct {
	reviews authorization.SubjectAccessReviewInterface
	mapper  meta.RESTMapper
}

// check returns an error if the user may not create objects of the kind in the namespace.
func (a *access) check(ctx context.Context, user authenticationv1.UserInfo, namespace string, kind schema.GroupVersionKind, path *field.Path) *field.Error {
	mapping, err := a.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		return field.Invalid(path, kind.String(), "the cluster does not serve this kind")
	}
	if err != nil {
		return field.InternalError(path, fmt.Errorf("finding the resource for %s: %w", kind, err))
	}
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace { // a permission in the namespace does not cover it
		return field.Invalid(path, kind.String(), "cluster-scoped objects cannot be wrapped")
	}
	wanted := &authorizationv1.ResourceAttributes{
		Namespace: namespace, Verb: "create", Group: kind.Group, Version: kind.Version, Resource: mapping.Resource.Resource,
	}
	review, err := a.reviews.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		ResourceAttributes: wanted, User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra(user),
	}}, metav1.CreateOptions{})
	if err != nil {
		return field.InternalError(path, fmt.Errorf("reviewing the access of %s: %w", user.Username, err))
	}
	if !review.Status.Allowed {
		return field.Forbidden(path, fmt.Sprintf("User %v is not authorized to create %v in %v", user.Username, wanted.Resource, namespace))
	}
	return nil
}

func extra(user authenticationv1.UserInfo) map[string]authorizationv1.ExtraValue {
	if len(user.Extra) == 0 {
		return nil
	}
	all := map[string]authorizationv1.ExtraValue{}
	for key, value := range user.Extra {
		all[key] = authorizationv1.ExtraValue(value)
	}
	return all
}
