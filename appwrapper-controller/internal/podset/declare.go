package podset

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
)

// declared are the kinds that we know and Kueue does not.
var declared = map[schema.GroupVersionKind]inference{
	{Group: "kubeflow.org", Version: "v2beta1", Kind: "MPIJob"}:                 mpiJob,
	{Group: "kubeflow.org", Version: "v1", Kind: "MPIJob"}:                      mpiJob,
	{Group: "leaderworkerset.x-k8s.io", Version: "v1", Kind: "LeaderWorkerSet"}: leaderWorkerSet,
	{Group: "elastic.pytorch.org", Version: "v1alpha1", Kind: "ElasticJob"}:     elasticJob,
}

// Declare returns the pod sets to write into the spec of an AppWrapper for an object whose kind Kueue does not know: it reads
// them there. None for all other kinds.
func Declare(object *unstructured.Unstructured) ([]v1beta2.AppWrapperPodSet, error) {
	return infer(declared, object)
}

func mpiJob(object map[string]any) ([]v1beta2.AppWrapperPodSet, error) {
	return roles(object, "template.spec.mpiReplicaSpecs.", "Launcher", "Worker")
}

func elasticJob(object map[string]any) ([]v1beta2.AppWrapperPodSet, error) {
	return roles(object, "template.spec.replicaSpecs.", "Worker")
}

func roles(object map[string]any, at string, names ...string) ([]v1beta2.AppWrapperPodSet, error) {
	sets := []v1beta2.AppWrapperPodSet{}
	for _, name := range names {
		var err error
		if sets, err = optional(sets, object, at+name+".template", at+name+".replicas", nil); err != nil {
			return nil, err
		}
	}
	return sets, nil
}

// leaderWorkerSet: each of the groups has `size` pods. One of them is the leader, which has a template of its own or that of the
// workers.
func leaderWorkerSet(object map[string]any) ([]v1beta2.AppWrapperPodSet, error) {
	const at = "template.spec.leaderWorkerTemplate."
	groups := number(object, "template.spec.replicas", 1)
	workers := number(object, at+"size", 1)
	sets := []v1beta2.AppWrapperPodSet{}
	if Exists(object, at+"leaderTemplate") {
		sets = append(sets, v1beta2.AppWrapperPodSet{Replicas: &groups, Path: at + "leaderTemplate"})
		workers--
	}
	if Exists(object, at+"workerTemplate") && workers > 0 {
		sets = append(sets, v1beta2.AppWrapperPodSet{Replicas: new(groups * workers), Path: at + "workerTemplate"})
	}
	return sets, nil
}
