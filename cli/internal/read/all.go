package read

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-project/holdfast/shared/timeline"
)

// All are the workloads of a namespace, or of all if it is empty, without their pods and events: objects of our kinds, and those of which
// the rescheduler has a memory, that none of them owns. Kinds that one has no right to list are left out, and told. Errors: ErrForbidden, if
// these are all, and those of the API server.
func (r Reader) All(ctx context.Context, namespace string) ([]*Workload, Forbidden, error) {
	kinds, err := served(r.Mapper, slices.Concat(training, moved))
	if err != nil {
		return nil, nil, err
	}
	var refused Forbidden
	f := forest{byUID: map[types.UID]*Workload{}}
	for _, k := range kinds { // owners come first: what they own is theirs
		list, err := r.permitted(ctx, &refused, k.gvr(), namespace, listing(k))
		if err != nil {
			return nil, nil, err
		}
		for i := range list {
			if slices.Contains(training, k) || timeline.Remembered(list[i].GetAnnotations()) {
				f.add(&list[i])
			}
		}
	}
	if len(refused) > 0 && len(refused) == len(kinds) {
		where := "all namespaces"
		if namespace != "" {
			where = "namespace " + namespace
		}
		return nil, nil, fmt.Errorf("%w to %s in %s", ErrForbidden, refused, where)
	}
	return f.roots, refused, nil
}

// listing leaves the Jobs of JobSets to the API server, of which there may be thousands: the memory of their moves is on the JobSet.
func listing(k kind) metav1.ListOptions {
	if k != jobs {
		return metav1.ListOptions{}
	}
	return metav1.ListOptions{LabelSelector: "!" + jobSetLabel}
}

// forest of workloads, by their roots.
type forest struct {
	roots []*Workload
	byUID map[types.UID]*Workload
}

func (f *forest) add(o *unstructured.Unstructured) {
	if ref := metav1.GetControllerOf(o); ref != nil && f.byUID[ref.UID] != nil {
		owner := f.byUID[ref.UID]
		owner.Objects = append(owner.Objects, o)
		return
	}
	w := &Workload{Objects: []*unstructured.Unstructured{o}}
	f.byUID[o.GetUID()] = w
	f.roots = append(f.roots, w)
}
