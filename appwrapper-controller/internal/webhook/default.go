package webhook

import (
	"context"
	"regexp"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/podset"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/review"
)

// Default adds the queue, says who the user is, declares the pod sets of kinds that Kueue does not know, and stamps what the user may create.
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
		return nil // the validation says what is not allowed
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

// declare leaves alone what it cannot read: the validation says what is wrong with it.
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

// labelValue makes a name fit for a label: cut to 63 bytes, other characters replaced, letters and digits at both ends.
func labelValue(name string) string {
	const longest = 63
	return strings.Trim(notInLabels.ReplaceAllString(name[:min(len(name), longest)], "_"), "-_.")
}
