package podset

import (
	"cmp"
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

type inference func(*finder)

type finder struct {
	object map[string]any
	sets   []v1beta2.AppWrapperPodSet
	err    error // the first error
}

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
	f := finder{object: object.Object, sets: []v1beta2.AppWrapperPodSet{}} // never nil, because the CRD does not allow null
	if find, known := kinds[object.GroupVersionKind()]; known {
		find(&f)
	}
	if f.err != nil {
		return nil, f.err
	}
	for _, set := range f.sets {
		if _, _, err := Template(f.object, set.Path); err != nil {
			return nil, fmt.Errorf("%v does not refer to a v1.PodSpecTemplate: %w", set.Path, err)
		}
	}
	return f.sets, nil
}

func (f *finder) add(replicas int32, path string, annotations map[string]string) {
	f.sets = append(f.sets, v1beta2.AppWrapperPodSet{Replicas: &replicas, Path: path, Annotations: annotations})
}

// single returns the inference for a kind with a single, optional template.
func single(path, replicas string) inference {
	return func(f *finder) { f.addOptional(path, replicas, nil) }
}

func job(f *finder) {
	f.add(f.parallel("template.spec."), "template.spec.template", map[string]string{v1beta2.PodIndexLabelKey: batchv1.JobCompletionIndexAnnotation})
}

func jobSet(f *finder) {
	for i := range f.length("template.spec.replicatedJobs") {
		rj := fmt.Sprintf("template.spec.replicatedJobs[%d].", i)
		if !Exists(f.object, rj+"template") {
			continue
		}
		replicas := f.number(rj+"replicas", 1)
		f.add(replicas*f.parallel(rj+"template.spec."), rj+"template.spec.template", map[string]string{
			v1beta2.PodIndexLabelKey:      batchv1.JobCompletionIndexAnnotation,
			v1beta2.SubGroupIndexLabelKey: jobSetJobIndex,
			v1beta2.SubGroupCountKey:      strconv.Itoa(int(replicas)),
		})
	}
}

// roles returns the inference for a kind with an optional template for each pod role.
func roles(at string, annotations map[string]string, names ...string) inference {
	return func(f *finder) {
		for _, name := range names {
			f.addOptional(at+name+".template", at+name+".replicas", annotations)
		}
	}
}

// ray returns the inference for a kind with a head, whose template is required, and worker groups.
func ray(at string) inference {
	return func(f *finder) {
		f.add(1, at+"headGroupSpec.template", nil)
		for i := range f.length(at + "workerGroupSpecs") {
			group := fmt.Sprintf("%sworkerGroupSpecs[%d].", at, i)
			f.addOptional(group+"template", group+"replicas", nil)
		}
	}
}

// addOptional adds the pod set of a template if the template exists. The default count is 1; a count that is not a number is an error.
func (f *finder) addOptional(path, replicas string, annotations map[string]string) {
	if !Exists(f.object, path) {
		return
	}
	value, _ := Lookup(f.object, replicas)
	if _, isNumber := value.(int64); !isNumber && value != nil {
		f.err = cmp.Or(f.err, fmt.Errorf("at path position '%v' non-int value %v", replicas, value))
	}
	f.add(f.number(replicas, 1), path, maps.Clone(annotations))
}

// parallel returns how many pods a Job runs at a time.
func (f *finder) parallel(spec string) int32 {
	pods := f.number(spec+"parallelism", 1)
	return min(pods, f.number(spec+"completions", pods))
}

// number reads a count, or returns the default if it is not a number.
func (f *finder) number(path string, absent int32) int32 {
	value, _ := Lookup(f.object, path)
	if n, ok := value.(int64); ok { // the type of all integers in decoded JSON
		return int32(n)
	}
	return absent
}

func (f *finder) length(path string) int {
	value, _ := Lookup(f.object, path)
	list, _ := value.([]any)
	return len(list)
}

// declared lists the kinds that we support and Kueue does not.
var declared = map[schema.GroupVersionKind]inference{
	{Group: "kubeflow.org", Version: "v2beta1", Kind: "MPIJob"}:                 roles("template.spec.mpiReplicaSpecs.", nil, "Launcher", "Worker"),
	{Group: "kubeflow.org", Version: "v1", Kind: "MPIJob"}:                      roles("template.spec.mpiReplicaSpecs.", nil, "Launcher", "Worker"),
	{Group: "leaderworkerset.x-k8s.io", Version: "v1", Kind: "LeaderWorkerSet"}: leaderWorkerSet,
	{Group: "elastic.pytorch.org", Version: "v1alpha1", Kind: "ElasticJob"}:     roles("template.spec.replicaSpecs.", nil, "Worker"),
}

// Declare returns the pod sets of an object whose kind Kueue does not support, and none for other kinds. The webhook writes them into the
// spec, from which Kueue reads them.
func Declare(object *unstructured.Unstructured) ([]v1beta2.AppWrapperPodSet, error) {
	return infer(declared, object)
}

// leaderWorkerSet adds the pod sets of the leaders and of the other workers. Each group has `size` pods, one of which is the leader. The
// leader uses its own template or that of the workers.
func leaderWorkerSet(f *finder) {
	const at = "template.spec.leaderWorkerTemplate."
	groups, workers := f.number("template.spec.replicas", 1), f.number(at+"size", 1)
	if Exists(f.object, at+"leaderTemplate") {
		f.add(groups, at+"leaderTemplate", nil)
		workers--
	}
	if Exists(f.object, at+"workerTemplate") && workers > 0 {
		f.add(groups*workers, at+"workerTemplate", nil)
	}
}
