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

// All returns the workloads of a namespace, or of all if it is empty, without pods and events: objects of our kinds, Indexed Jobs that ask for
// in-place restarts, and other objects with rescheduler state. Groups that pods declare are left out. Kinds that may not be listed are skipped and returned. Errors: ErrForbidden if none may be listed, and those of the
// API server.
func (r Reader) All(ctx context.Context, namespace string) ([]*Workload, Forbidden, error) {
	kinds, err := served(r.Mapper, slices.Concat(training, rescheduled))
	if err != nil {
		return nil, nil, err
	}
	var refused Forbidden
	f := workloads{byUID: map[types.UID]*Workload{}}
	for _, k := range kinds { // owners come first and collect what they own
		list, err := r.permitted(ctx, &refused, k.gvr(), namespace, listing(k))
		if err != nil {
			return nil, nil, err
		}
		for i := range list {
			if slices.Contains(training, k) || timeline.Remembered(list[i].GetAnnotations()) || declared(&list[i]) != nil {
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

// workloads collects workloads by their root.
type workloads struct {
	roots []*Workload
	byUID map[types.UID]*Workload
}

func (f *workloads) add(o *unstructured.Unstructured) {
	if ref := metav1.GetControllerOf(o); ref != nil && f.byUID[ref.UID] != nil {
		owner := f.byUID[ref.UID]
		owner.Objects = append(owner.Objects, o)
		return
	}
	w := &Workload{Objects: []*unstructured.Unstructured{o}}
	f.byUID[o.GetUID()] = w
	f.roots = append(f.roots, w)
}
