package read

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-project/holdfast/shared/timeline"
)

// Groups and labels of known kinds.
const (
	appWrapperGroup = "workload.codeflare.dev"
	jobSetGroup     = "jobset.x-k8s.io"
	elasticGroup    = "elastic.pytorch.org"

	appWrapperLabel = "workload.codeflare.dev/appwrapper"
	jobSetLabel     = "jobset.sigs.k8s.io/jobset-name"
	groupNameLabel  = "holdfast.dev/group-name" // names the pod with index 0; set on all pods of a group declared by pods
	lwsNameLabel    = "leaderworkerset.sigs.k8s.io/name"
	queueLabel      = "kueue.x-k8s.io/queue-name"
)

// podLabels maps the API group of a root to the label that holds the root's name on its pods. Pods of other roots are found through their
// owners.
var podLabels = map[string]string{
	appWrapperGroup: appWrapperLabel, jobSetGroup: jobSetLabel, leaderWorkerSets.Group: lwsNameLabel, podKind.Group: groupNameLabel,
}

// kind is a kind of object that may belong to a workload.
type kind struct {
	schema.GroupVersionKind
	resource string
}

// is reports whether the user's input refers to this kind.
func (k kind) is(wanted string) bool {
	return strings.EqualFold(wanted, k.Kind) || strings.EqualFold(wanted, k.resource)
}

func (k kind) gvr() schema.GroupVersionResource { return k.GroupVersion().WithResource(k.resource) }

// training lists the kinds of our own programs.
var training = []kind{
	{schema.GroupVersionKind{Group: appWrapperGroup, Version: "v1beta2", Kind: "AppWrapper"}, "appwrappers"},
	{schema.GroupVersionKind{Group: jobSetGroup, Version: "v1alpha2", Kind: "JobSet"}, "jobsets"},
	{schema.GroupVersionKind{Group: elasticGroup, Version: "v1alpha1", Kind: "ElasticJob"}, "elasticjobs"},
}

var (
	cronJobs     = kind{schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "CronJob"}, "cronjobs"}
	jobs         = kind{schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}, "jobs"}
	deployments  = kind{schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, "deployments"}
	statefulSets = kind{schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"}, "statefulsets"}
	replicaSets  = kind{schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"}, "replicasets"}
	podKind      = kind{schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, podsResource.Resource}

	leaderWorkerSets = kind{schema.GroupVersionKind{Group: "leaderworkerset.x-k8s.io", Version: "v1", Kind: "LeaderWorkerSet"}, "leaderworkersets"}
)

// rescheduled lists the kinds on which the rescheduler stores its state, owners before owned. ReplicaSets are not included, because a
// Deployment copies its annotations to them.
var rescheduled = []kind{cronJobs, jobs, deployments, statefulSets}

// intermediate maps a kind to the kind of the objects that are between its objects and their pods.
var intermediate = map[string]kind{cronJobs.Kind: jobs, deployments.Kind: replicaSets}

func allKinds() []kind {
	return slices.Concat(training, []kind{leaderWorkerSets}, rescheduled, []kind{replicaSets})
}

// known reports whether the plugin follows owners of a kind. The leader pods of a LeaderWorkerSet own StatefulSets.
func known(of schema.GroupKind) bool {
	return of == podKind.GroupKind() || slices.ContainsFunc(allKinds(), func(k kind) bool { return k.GroupKind() == of })
}

// served returns the kinds that the cluster serves.
func served(mapper meta.RESTMapper, kinds []kind) ([]kind, error) {
	var found []kind
	for _, k := range kinds {
		_, err := mapper.RESTMapping(k.GroupKind(), k.Version)
		switch {
		case err == nil:
			found = append(found, k)
		case !meta.IsNoMatchError(err):
			return nil, err
		}
	}
	return found, nil
}

// All returns the workloads of a namespace, or of all namespaces if it is empty, without pods and events. It includes objects of our kinds,
// Indexed Jobs that request in-place restarts, and other objects with rescheduler state. Groups declared by pods are not included. Kinds that
// the user is not allowed to list are skipped, and the missing permissions are returned. All fails with ErrForbidden if the user may list
// none of the kinds, or with an error from the API server.
func (r Reader) All(ctx context.Context, namespace string) ([]*Workload, Forbidden, error) {
	kinds, err := served(r.Mapper, slices.Concat(training, rescheduled))
	if err != nil {
		return nil, nil, err
	}
	var refused Forbidden
	var roots []*Workload
	byUID := map[types.UID]*Workload{} // by the UID of the root
	for _, k := range kinds {          // owners come before the objects that they own
		list, err := r.list(ctx, &refused, k.gvr(), namespace, listOptions(k))
		if err != nil {
			return nil, nil, err
		}
		for i := range list {
			o := &list[i]
			if !slices.Contains(training, k) && !timeline.Remembered(o.GetAnnotations()) && declared(o) == nil {
				continue
			}
			if ref := metav1.GetControllerOf(o); ref != nil && byUID[ref.UID] != nil {
				owner := byUID[ref.UID]
				owner.Objects = append(owner.Objects, o)
				continue
			}
			w := &Workload{Objects: []*unstructured.Unstructured{o}}
			byUID[o.GetUID()] = w
			roots = append(roots, w)
		}
	}
	if len(refused) > 0 && len(refused) == len(kinds) {
		return nil, nil, fmt.Errorf("%w to %s", ErrForbidden, refused)
	}
	return roots, refused, nil
}
