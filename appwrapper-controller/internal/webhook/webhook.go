// Package webhook sets defaults on AppWrappers and rejects invalid ones with the field path and the reason.
package webhook

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/podset"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/review"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/settings"
	"github.com/holdfast-project/holdfast/shared/bootstrap"
)

// maxPodSets is Kueue's limit on the number of pod sets in a workload, since 0.19.
const maxPodSets = 18

var componentsPath = field.NewPath("spec", "components")

// ValidateCreate rejects AppWrappers that cannot run, and warns about probable mistakes. Default has already checked the user's permissions.
func (w appWrappers) ValidateCreate(_ context.Context, aw *v1beta2.AppWrapper) (admission.Warnings, error) {
	v := createValidator{aw: aw}
	v.name()
	for i := range aw.Spec.Components {
		v.component(i)
	}
	v.total()
	return append(v.warnings, w.annotations(aw)...), v.errs.ToAggregate()
}

// annotations warns about invalid annotations. The defaults apply instead, so the workload is not rejected because of them.
func (w appWrappers) annotations(aw *v1beta2.AppWrapper) admission.Warnings {
	var warnings admission.Warnings
	_, problems := settings.Read(aw.Annotations, w.operator)
	for _, problem := range problems {
		warnings = append(warnings, "metadata.annotations: "+problem+"; it is ignored")
	}
	return warnings
}

type createValidator struct {
	aw       *v1beta2.AppWrapper
	errs     field.ErrorList
	warnings admission.Warnings
	podSets  int
}

func (v *createValidator) refuse(err *field.Error) { v.errs = append(v.errs, err) }

func (v *createValidator) name() {
	for _, problem := range validation.IsValidLabelValue(v.aw.Name) {
		v.refuse(field.Invalid(field.NewPath("metadata", "name"), v.aw.Name, "the name becomes a label of each pod: "+problem))
	}
}

func (v *createValidator) component(i int) {
	path := componentsPath.Index(i)
	c := &v.aw.Spec.Components[i]
	object, err := podset.Decode(c)
	if err != nil {
		v.refuse(field.Invalid(path.Child("template"), string(c.Template.Raw), "failed to decode as JSON"))
		return
	}
	v.object(path.Child("template"), object)
	v.checkPodSets(path.Child("podSets"), object, c.DeclaredPodSets)
	inferred, err := podset.Infer(object)
	if err != nil {
		v.refuse(field.Invalid(path.Child("template"), object.GetKind(), fmt.Sprintf("error inferring PodSets: %v", err)))
		return
	}
	v.podSets += max(len(c.DeclaredPodSets), len(inferred))
	if err := podset.Check(c.DeclaredPodSets, inferred); err != nil {
		v.refuse(field.Invalid(path.Child("podSets"), len(c.DeclaredPodSets), err.Error()))
	}
	if len(c.DeclaredPodSets) == 0 {
		v.checkPodSets(path.Child("template"), object, inferred)
	}
}

func (v *createValidator) object(path *field.Path, object *unstructured.Unstructured) {
	if object.GroupVersionKind() == v1beta2.GroupVersion.WithKind(v1beta2.Kind) {
		v.refuse(field.Forbidden(path, "Nested AppWrappers are forbidden"))
	}
	if namespace := object.GetNamespace(); namespace != "" && namespace != v.aw.Namespace {
		v.refuse(field.Forbidden(path.Child("metadata", "namespace"), "AppWrappers cannot create objects in other namespaces"))
	}
	for i, owner := range object.GetOwnerReferences() {
		if owner.Controller != nil && *owner.Controller {
			v.refuse(field.Forbidden(path.Child("metadata", "ownerReferences").Index(i), "components must not have a controller: the AppWrapper becomes their controller"))
		}
	}
	v.timeToLive(path, object)
	if len(object.GetFinalizers()) > 0 {
		v.warnings = append(v.warnings, fmt.Sprintf("%s: %v delay every reset, and the release of the quota, until they are removed",
			path.Child("metadata", "finalizers"), object.GetFinalizers()))
	}
}

// checkPodSets also rejects pod specs with unknown fields: typos, or fields from a newer Kubernetes version. Kueue would ignore such a pod
// set, and the workload would never start.
func (v *createValidator) checkPodSets(path *field.Path, object *unstructured.Unstructured, sets []v1beta2.AppWrapperPodSet) {
	for i, set := range sets {
		at := path.Index(i).Child("path")
		if set.Path == "" {
			v.refuse(field.Required(at, "podspec must specify path"))
		}
		if set.Count() < 0 {
			v.refuse(field.Invalid(path.Index(i).Child("replicas"), set.Count(), "must not be negative"))
		}
		_, unknown, err := podset.Template(object.Object, set.Path)
		switch {
		case err != nil:
			v.refuse(field.Invalid(at, set.Path, fmt.Sprintf("path does not refer to a v1.PodSpecTemplate: %v", err)))
		case unknown != nil:
			v.refuse(field.Invalid(path, set.Path, unknown.Error()))
		}
	}
}

// minTTL is how long a finished object must exist for the controller to observe how it ended. It is longer than a leader change takes.
const minTTL = time.Minute

// timeToLive warns about an object that may be deleted before the controller observes how it ended.
func (v *createValidator) timeToLive(path *field.Path, object *unstructured.Unstructured) {
	for _, parent := range []string{"spec", "spec.runPolicy"} {
		fields := strings.Split(parent+".ttlSecondsAfterFinished", ".")
		seconds, found, err := unstructured.NestedInt64(object.Object, fields...)
		if found && err == nil && time.Duration(seconds)*time.Second < minTTL {
			v.warnings = append(v.warnings, fmt.Sprintf("%s: an object that is deleted less than %s after it finishes may count as deleted by someone else; omit this field and set %s",
				path.Child(fields[0], fields[1:]...), minTTL, v1beta2.SuccessTTLKey))
		}
	}
}

func (v *createValidator) total() {
	switch {
	case v.podSets == 0:
		v.refuse(field.Invalid(componentsPath, len(v.aw.Spec.Components), "components contains no podspecs"))
	case v.podSets > maxPodSets:
		v.refuse(field.Invalid(componentsPath, v.podSets, fmt.Sprintf("components contains %v podspecs; at most %v are allowed", v.podSets, maxPodSets)))
	}
}

const immutable = "attempt to change immutable field"

func (w appWrappers) ValidateUpdate(_ context.Context, old, aw *v1beta2.AppWrapper) (admission.Warnings, error) {
	before := w.annotations(old)
	warnings := slices.DeleteFunc(w.annotations(aw), func(warning string) bool { return slices.Contains(before, warning) })
	return warnings, changes(old, aw).ToAggregate()
}

func changes(old, aw *v1beta2.AppWrapper) field.ErrorList {
	if len(old.Spec.Components) != len(aw.Spec.Components) {
		return field.ErrorList{field.Forbidden(componentsPath, immutable)}
	}
	var errs field.ErrorList
	for i := range aw.Spec.Components {
		errs = append(errs, componentChanges(&old.Spec.Components[i], &aw.Spec.Components[i], componentsPath.Index(i))...)
	}
	for _, label := range []string{v1beta2.UserLabel, v1beta2.UserIDLabel} {
		if old.Labels[label] != aw.Labels[label] {
			errs = append(errs, field.Forbidden(field.NewPath("metadata", "labels").Key(label), immutable))
		}
	}
	if !ptr.Equal(old.Spec.ManagedBy, aw.Spec.ManagedBy) {
		errs = append(errs, field.Forbidden(field.NewPath("spec", "managedBy"), immutable))
	}
	return errs
}

func componentChanges(old, c *v1beta2.AppWrapperComponent, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if !bytes.Equal(old.Template.Raw, c.Template.Raw) {
		errs = append(errs, field.Forbidden(path.Child("template").Child("raw"), immutable))
	}
	sets := path.Child("podsets")
	if len(old.DeclaredPodSets) != len(c.DeclaredPodSets) {
		return append(errs, field.Forbidden(sets, immutable))
	}
	for i := range c.DeclaredPodSets {
		if old.DeclaredPodSets[i].Count() != c.DeclaredPodSets[i].Count() {
			errs = append(errs, field.Forbidden(sets.Index(i).Child("replicas"), immutable))
		}
		if old.DeclaredPodSets[i].Path != c.DeclaredPodSets[i].Path {
			errs = append(errs, field.Forbidden(sets.Index(i).Child("path"), immutable))
		}
	}
	return errs
}

// Default sets the queue, the user labels and the pod sets of kinds that Kueue does not know. It signs the AppWrapper if the user may create
// all components, and rejects it otherwise.
func (w appWrappers) Default(ctx context.Context, aw *v1beta2.AppWrapper) error {
	request, err := admission.RequestFromContext(ctx)
	if err != nil {
		return err
	}
	if _, queued := aw.Labels[v1beta2.QueueLabel]; !queued && w.queue != "" {
		metav1.SetMetaDataLabel(&aw.ObjectMeta, v1beta2.QueueLabel, w.queue)
	}
	metav1.SetMetaDataLabel(&aw.ObjectMeta, v1beta2.UserLabel, labelValue(request.UserInfo.Username))
	metav1.SetMetaDataLabel(&aw.ObjectMeta, v1beta2.UserIDLabel, labelValue(request.UserInfo.UID))
	delete(aw.Annotations, review.Annotation)
	for i := range aw.Spec.Components {
		c := &aw.Spec.Components[i]
		object, err := podset.Decode(c)
		if err != nil {
			return nil // without a signature; the validation rejects it
		}
		if sets, err := podset.Declare(object); err == nil && len(sets) > 0 && len(c.DeclaredPodSets) == 0 { // the validation reports the error
			c.DeclaredPodSets = sets
		}
		if err := w.checkAccess(ctx, request.UserInfo, aw.Namespace, object.GroupVersionKind(), componentsPath.Index(i).Child("template")); err != nil {
			return err
		}
	}
	if w.access == nil {
		return nil
	}
	return w.reviews.Stamp(aw, time.Now())
}

var notInLabels = regexp.MustCompile(`[^-_.a-zA-Z0-9]`)

// labelValue converts a name to a valid label value of at most 63 bytes.
func labelValue(name string) string {
	const longest = 63
	return strings.Trim(notInLabels.ReplaceAllString(name[:min(len(name), longest)], "_"), "-_.")
}

// checkAccess returns an error if the user may not create objects of the kind in the namespace. The controller itself has that permission,
// and must not let users exceed theirs. checkAccess returns nil if the check is off.
func (w appWrappers) checkAccess(ctx context.Context, user authenticationv1.UserInfo, namespace string, kind schema.GroupVersionKind, path *field.Path) *field.Error {
	if w.access == nil {
		return nil
	}
	mapping, err := w.access.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		return field.Invalid(path, kind.String(), "the cluster does not serve this kind")
	}
	if err != nil {
		return field.InternalError(path, fmt.Errorf("finding the resource for %s: %w", kind, err))
	}
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace { // a permission in the namespace does not cover a cluster-scoped object
		return field.Invalid(path, kind.String(), "cluster-scoped objects cannot be wrapped")
	}
	wanted := &authorizationv1.ResourceAttributes{
		Namespace: namespace, Verb: "create", Group: kind.Group, Version: kind.Version, Resource: mapping.Resource.Resource,
	}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		ResourceAttributes: wanted, User: user.Username, UID: user.UID, Groups: user.Groups, Extra: map[string]authorizationv1.ExtraValue{},
	}}
	for key, value := range user.Extra {
		review.Spec.Extra[key] = authorizationv1.ExtraValue(value)
	}
	if err := w.access.Create(ctx, review); err != nil {
		return field.InternalError(path, fmt.Errorf("checking the permissions of %s: %w", user.Username, err))
	}
	if !review.Status.Allowed {
		return field.Forbidden(path, fmt.Sprintf("User %v is not authorized to create %v in %v", user.Username, wanted.Resource, namespace))
	}
	return nil
}

// +kubebuilder:webhook:path=/mutate-workload-codeflare-dev-v1beta2-appwrapper,mutating=true,failurePolicy=fail,sideEffects=None,groups=workload.codeflare.dev,resources=appwrappers,verbs=create,versions=v1beta2,name=mappwrapper.kb.io,admissionReviewVersions=v1,serviceName=appwrapper-webhook-service
// +kubebuilder:webhook:path=/validate-workload-codeflare-dev-v1beta2-appwrapper,mutating=false,failurePolicy=fail,sideEffects=None,groups=workload.codeflare.dev,resources=appwrappers,verbs=create;update,versions=v1beta2,name=vappwrapper.kb.io,admissionReviewVersions=v1,serviceName=appwrapper-webhook-service
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create

// Register registers both webhooks. reviews signs AppWrappers that passed the access check; nil turns the check off.
func Register(mgr ctrl.Manager, config settings.AppWrapper, reviews *review.Reviews) error {
	w := appWrappers{queue: config.DefaultQueueName, operator: config.FaultTolerance}
	if reviews != nil {
		w.reviews, w.access = reviews, mgr.GetClient()
	}
	return ctrl.NewWebhookManagedBy(mgr, &v1beta2.AppWrapper{}).WithDefaulter(w).WithValidator(w).Complete()
}

type appWrappers struct {
	bootstrap.NoValidation[*v1beta2.AppWrapper]
	queue    string // default queue, may be empty
	operator settings.FaultTolerance
	access   client.Client // for access reviews; nil if access is not checked
	reviews  *review.Reviews
}

// +kubebuilder:webhookconfiguration:mutating=true,name=appwrapper-mutating-webhook-configuration
// +kubebuilder:webhookconfiguration:mutating=false,name=appwrapper-validating-webhook-configuration
