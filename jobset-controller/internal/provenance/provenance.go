// Package provenance distinguishes annotations that programs wrote on a JobSet, or on a Job without one, from copies of
// them. A manifest that was read from a cluster contains annotations that were written for its JobSet. If it were
// submitted again unchanged, the restarts of the old JobSet would count.
package provenance

import (
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/history"
	"github.com/holdfast-project/holdfast/shared/recovering"
)

// storeUser is set by the orchestrator, see its package credentials.
const storeUser = "holdfast.dev/store-user"

// written lists all annotations that the manager and the orchestrator set on JobSets. It does not list annotations set
// by the webhook, because they are derived from the spec.
var written = []string{
	v1alpha2.WrittenForKey, epoch.Annotation, history.Annotation, recovering.Annotation, v1alpha2.InPlaceRestartsKey, storeUser, v1alpha2.LedByKey,
}

// Stamp records in the annotations of a JobSet or a Job the object to which they belong. Every program that sets one of
// the written annotations must call it. Owners of other kinds have no stamp.
func Stamp(owner metav1.Object, annotations map[string]string) {
	switch owner.(type) {
	case *v1alpha2.JobSet, *batchv1.Job:
		annotations[v1alpha2.WrittenForKey] = string(owner.GetUID())
	}
}

// Copied reports whether the annotations were written for an object with a different UID. Annotations without a stamp
// were written before stamps existed.
func Copied(annotations map[string]string, uid types.UID) bool {
	stamp, found := annotations[v1alpha2.WrittenForKey]
	return found && stamp != string(uid)
}

// Drop removes the annotations written by programs.
func Drop(annotations map[string]string) {
	for _, key := range written {
		delete(annotations, key)
	}
}

// DropOfJob removes the annotations that programs wrote on a Job without a JobSet. These include MaxRestartsKey, which
// users set on owners of other kinds.
func DropOfJob(annotations map[string]string) {
	Drop(annotations)
	delete(annotations, v1alpha2.MaxRestartsKey)
}

// Restore sets the annotations written by programs to their previous values.
func Restore(annotations, before map[string]string) {
	for _, key := range written {
		if value, found := before[key]; found {
			annotations[key] = value
		} else {
			delete(annotations, key)
		}
	}
}
