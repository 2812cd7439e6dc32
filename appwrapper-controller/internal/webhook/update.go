package webhook

import (
	"bytes"
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
)

const immutable = "attempt to change immutable field"

// ValidateUpdate refuses changes of what was validated at the creation.
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
