package webhook

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	authorization "k8s.io/client-go/kubernetes/typed/authorization/v1"
)

// access asks whether a user may create what they wrap: the controller may, and must not be a way around.
type access struct {
	reviews authorization.SubjectAccessReviewInterface
	mapper  meta.RESTMapper
}

// check returns what is wrong with the user creating objects of the kind in the namespace.
func (a *access) check(ctx context.Context, user authenticationv1.UserInfo, namespace string, kind schema.GroupVersionKind, path *field.Path) *field.Error {
	mapping, err := a.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		return field.Invalid(path, kind.String(), "the cluster does not know this kind")
	}
	if err != nil {
		return field.InternalError(path, fmt.Errorf("looking for the resource of %s: %w", kind, err))
	}
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace { // a right in the namespace says nothing about it
		return field.Invalid(path, kind.String(), "objects outside of namespaces cannot be wrapped")
	}
	wanted := &authorizationv1.ResourceAttributes{
		Namespace: namespace, Verb: "create", Group: kind.Group, Version: kind.Version, Resource: mapping.Resource.Resource,
	}
	review, err := a.reviews.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		ResourceAttributes: wanted, User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra(user),
	}}, metav1.CreateOptions{})
	if err != nil {
		return field.InternalError(path, fmt.Errorf("asking what %s may do: %w", user.Username, err))
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
