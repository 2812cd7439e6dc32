// Package read gathers what is known of a workload with a dynamic client: its objects, from the root down, its pods, and events. Kinds that
// the cluster does not have are simply not there, so that any of the programs may be missing.
package read

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Groups and labels of the kinds that are known.
const (
	appWrapperGroup = "workload.codeflare.dev"
	jobSetGroup     = "jobset.x-k8s.io"
	elasticGroup    = "elastic.pytorch.org"

	appWrapperLabel = "workload.codeflare.dev/appwrapper"
	jobSetLabel     = "jobset.sigs.k8s.io/jobset-name"
	queueLabel      = "kueue.x-k8s.io/queue-name"
)

// kind of object that can be a workload, or the root of one.
type kind struct {
	schema.GroupVersionKind
	resource string
}

func (k kind) gvr() schema.GroupVersionResource { return k.GroupVersion().WithResource(k.resource) }

// training are the kinds that one of our programs owns; they come before those that the rescheduler merely watches.
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
)

// moved are the kinds that the rescheduler keeps its memory on, owners before what they own. ReplicaSets are none of them: a Deployment
// copies its annotations to its own.
var moved = []kind{cronJobs, jobs, deployments, statefulSets}

// between are the kinds whose objects stand between those of a kind and their pods.
var between = map[string]kind{cronJobs.Kind: jobs, deployments.Kind: replicaSets}

func allKinds() []kind { return slices.Concat(training, moved, []kind{replicaSets}) }

// served leaves out kinds that the cluster does not have.
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
