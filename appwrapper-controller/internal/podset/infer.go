package podset

import (
	"fmt"
	"maps"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
)

// Labels that other projects set on their pods.
const (
	jobSetJobIndex      = "jobset.sigs.k8s.io/job-index"
	trainingReplicaType = "training.kubeflow.org/replica-index"
)

// inference determines the pod sets of objects of one kind.
type inference func(object map[string]any) ([]v1beta2.AppWrapperPodSet, error)

// published lists the kinds supported by the upstream library, which Kueue uses. Do not add kinds: Kueue would not infer their pod sets.
// See Declare.
var published = map[schema.GroupVersionKind]inference{
	{Version: "v1", Kind: "Pod"}:                                    single("template", ""),
	{Group: "apps", Version: "v1", Kind: "Deployment"}:              single("template.spec.template", "template.spec.replicas"),
	{Group: "apps", Version: "v1", Kind: "StatefulSet"}:             single("template.spec.template", "template.spec.replicas"),
	{Group: "batch", Version: "v1", Kind: "Job"}:                    job,
	{Group: "jobset.x-k8s.io", Version: "v1alpha2", Kind: "JobSet"}: jobSet,
	{Group: "kubeflow.org", Version: "v1", Kind: "PyTorchJob"}:      roles("template.spec.pytorchReplicaSpecs.", map[string]string{v1beta2.PodIndexLabelKey: trainingReplicaType}, "Master", "Worker"),
	{Group: "ray.io", Version: "v1", Kind: "RayCluster"}:            ray("template.spec."),
	{Group: "ray.io", Version: "v1", Kind: "RayJob"}:                ray("template.spec.rayClusterSpec."),
}

// Infer returns the pod sets of an object if Kueue knows its kind, and none otherwise. The error names an invalid template or count.
func Infer(object *unstructured.Unstructured) ([]v1beta2.AppWrapperPodSet, error) {
	return infer(published, object)
}

func infer(kinds map[schema.GroupVersionKind]inference, object *unstructured.Unstructured) ([]v1beta2.AppWrapperPodSet, error) {
	sets := []v1beta2.AppWrapperPodSet{} // never nil, because the CRD does not allow null
	if find, known := kinds[object.GroupVersionKind()]; known {
		found, err := find(object.Object)
		if err != nil {
			return nil, err
		}
		sets = append(sets, found...)
	}
	for _, set := range sets {
		if _, _, err := Template(object.Object, set.Path); err != nil {
			return nil, fmt.Errorf("%v does not refer to a v1.PodSpecTemplate: %w", set.Path, err)
		}
	}
	return sets, nil
}

// single returns the inference for a kind with a single, optional template.
func single(path, replicas string) inference {
	return func(object map[string]any) ([]v1beta2.AppWrapperPodSet, error) {
		return optional(nil, object, path, replicas, nil)
	}
}

func job(object map[string]any) ([]v1beta2.AppWrapperPodSet, error) {
	return []v1beta2.AppWrapperPodSet{{
		Replicas:    new(parallel(object, "template.spec.")),
		Path:        "template.spec.template",
		Annotations: map[string]string{v1beta2.PodIndexLabelKey: batchv1.JobCompletionIndexAnnotation},
	}}, nil
}

func jobSet(object map[string]any) (sets []v1beta2.AppWrapperPodSet, err error) {
	for i := range list(object, "template.spec.replicatedJobs") {
		rj := fmt.Sprintf("template.spec.replicatedJobs[%d].", i)
		if !Exists(object, rj+"template") {
			continue
		}
		replicas := number(object, rj+"replicas", 1)
		sets = append(sets, v1beta2.AppWrapperPodSet{
			Replicas: new(replicas * parallel(object, rj+"template.spec.")),
			Path:     rj + "template.spec.template",
			Annotations: map[string]string{
				v1beta2.PodIndexLabelKey:      batchv1.JobCompletionIndexAnnotation,
				v1beta2.SubGroupIndexLabelKey: jobSetJobIndex,
				v1beta2.SubGroupCountKey:      strconv.Itoa(int(replicas)),
			},
		})
	}
	return sets, nil
}

// roles returns the inference for a kind with a template for each role of its pods, each of which is optional.
func roles(at string, annotations map[string]string, names ...string) inference {
	return func(object map[string]any) (sets []v1beta2.AppWrapperPodSet, err error) {
		for _, name := range names {
			if sets, err = optional(sets, object, at+name+".template", at+name+".replicas", annotations); err != nil {
				return nil, err
			}
		}
		return sets, nil
	}
}

// ray returns the pod set of the head, which is required, followed by those of the worker groups.
func ray(at string) inference {
	return func(object map[string]any) (sets []v1beta2.AppWrapperPodSet, err error) {
		sets = append(sets, v1beta2.AppWrapperPodSet{Replicas: new(int32(1)), Path: at + "headGroupSpec.template"})
		for i := range list(object, at+"workerGroupSpecs") {
			group := fmt.Sprintf("%sworkerGroupSpecs[%d].", at, i)
			if sets, err = optional(sets, object, group+"template", group+"replicas", nil); err != nil {
				return nil, err
			}
		}
		return sets, nil
	}
}

// optional adds the pod set of a template if the template exists. The default count is 1; a count that is not a number is an error.
func optional(sets []v1beta2.AppWrapperPodSet, object map[string]any, path, replicas string, annotations map[string]string) ([]v1beta2.AppWrapperPodSet, error) {
	if !Exists(object, path) {
		return sets, nil
	}
	count := int32(1)
	if value, err := Lookup(object, replicas); replicas != "" && err == nil && value != nil {
		n, isNumber := integer(value)
		if !isNumber {
			return nil, fmt.Errorf("at path position '%v' non-int value %v", replicas, value)
		}
		count = n
	}
	return append(sets, v1beta2.AppWrapperPodSet{Replicas: &count, Path: path, Annotations: maps.Clone(annotations)}), nil
}

// parallel returns how many pods a Job runs at a time.
func parallel(object map[string]any, spec string) int32 {
	pods := number(object, spec+"parallelism", 1)
	return min(pods, number(object, spec+"completions", pods))
}

// number reads a count, or returns the default if it is not a number.
func number(object map[string]any, path string, absent int32) int32 {
	value, err := Lookup(object, path)
	if err != nil {
		return absent
	}
	if n, ok := integer(value); ok {
		return n
	}
	return absent
}

func integer(value any) (int32, bool) {
	switch n := value.(type) {
	case int:
		return int32(n), true
	case int32:
		return n, true
	case int64:
		return int32(n), true
	}
	return 0, false
}

func list(object map[string]any, path string) []any {
	value, err := Lookup(object, path)
	if err != nil {
		return nil
	}
	found, _ := value.([]any)
	return found
}

// declared lists the kinds that we support and Kueue does not.
var declared = map[schema.GroupVersionKind]inference{
	{Group: "kubeflow.org", Version: "v2beta1", Kind: "MPIJob"}:                 roles("template.spec.mpiReplicaSpecs.", nil, "Launcher", "Worker"),
	{Group: "kubeflow.org", Version: "v1", Kind: "MPIJob"}:                      roles("template.spec.mpiReplicaSpecs.", nil, "Launcher", "Worker"),
	{Group: "leaderworkerset.x-k8s.io", Version: "v1", Kind: "LeaderWorkerSet"}: leaderWorkerSet,
	{Group: "elastic.pytorch.org", Version: "v1alpha1", Kind: "ElasticJob"}:     roles("template.spec.replicaSpecs.", nil, "Worker"),
}

// Declare returns the pod sets to write into the spec if Kueue does not support the kind, because Kueue reads declared pod sets. For all
// other kinds it returns none.
func Declare(object *unstructured.Unstructured) ([]v1beta2.AppWrapperPodSet, error) {
	return infer(declared, object)
}

// leaderWorkerSet returns the pod sets of the leaders and of the other workers. Each group has `size` pods, one of which is the leader. The
// leader uses its own template or that of the workers.
func leaderWorkerSet(object map[string]any) (sets []v1beta2.AppWrapperPodSet, err error) {
	const at = "template.spec.leaderWorkerTemplate."
	groups := number(object, "template.spec.replicas", 1)
	workers := number(object, at+"size", 1)
	if Exists(object, at+"leaderTemplate") {
		sets = append(sets, v1beta2.AppWrapperPodSet{Replicas: &groups, Path: at + "leaderTemplate"})
		workers--
	}
	if Exists(object, at+"workerTemplate") && workers > 0 {
		sets = append(sets, v1beta2.AppWrapperPodSet{Replicas: new(groups * workers), Path: at + "workerTemplate"})
	}
	return sets, nil
}
