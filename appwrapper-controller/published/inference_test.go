package published

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	theirs "github.com/project-codeflare/appwrapper/api/v1beta2"
	"github.com/project-codeflare/appwrapper/pkg/utils"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-project/holdfast/appwrapper-controller/api/v1beta2"
	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/podset"
)

const (
	pods  = `{spec: {containers: [{name: a, image: b}]}}`
	typed = `{metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: b, resources: {requests: {cpu: 1}}}], initContainers: [{name: i, image: b}]}}`
)

// templates holds valid and invalid templates of all kinds that the upstream library supports.
var templates = map[string]string{
	"a Pod":                               `{apiVersion: v1, kind: Pod, spec: {containers: [{name: a, image: b}]}}`,
	"a Pod without a spec":                `{apiVersion: v1, kind: Pod}`,
	"a Pod with a misspelled field":       `{apiVersion: v1, kind: Pod, spec: {container: []}}`,
	"a Pod with an unknown version":       `{apiVersion: v2, kind: Pod, spec: {containers: [{name: a, image: b}]}}`,
	"a Service":                           `{apiVersion: v1, kind: Service, spec: {}}`,
	"a Deployment":                        `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 3, template: ` + pods + `}}`,
	"a Deployment with default replicas":  `{apiVersion: apps/v1, kind: Deployment, spec: {template: ` + typed + `}}`,
	"a Deployment scaled to zero":         `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 0, template: ` + pods + `}}`,
	"a Deployment with invalid replicas":  `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: many, template: ` + pods + `}}`,
	"a Deployment without a template":     `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 3}}`,
	"a StatefulSet":                       `{apiVersion: apps/v1, kind: StatefulSet, spec: {replicas: 2, template: ` + pods + `}}`,
	"a StatefulSet with default replicas": `{apiVersion: apps/v1, kind: StatefulSet, spec: {template: ` + pods + `}}`,
	"a DaemonSet":                         `{apiVersion: apps/v1, kind: DaemonSet, spec: {template: ` + pods + `}}`,
	"a Job":                               `{apiVersion: batch/v1, kind: Job, spec: {template: ` + pods + `}}`,
	"a parallel Job":                      `{apiVersion: batch/v1, kind: Job, spec: {parallelism: 4, template: ` + pods + `}}`,
	"a Job with few completions":          `{apiVersion: batch/v1, kind: Job, spec: {parallelism: 4, completions: 2, template: ` + pods + `}}`,
	"a Job with many completions":         `{apiVersion: batch/v1, kind: Job, spec: {parallelism: 4, completions: 9, template: ` + pods + `}}`,
	"a Job with only completions":         `{apiVersion: batch/v1, kind: Job, spec: {completions: 9, template: ` + pods + `}}`,
	"a Job without a template":            `{apiVersion: batch/v1, kind: Job, spec: {parallelism: 4}}`,
	"a Job with an unknown field":         `{apiVersion: batch/v1, kind: Job, spec: {template: {spec: {newer: 1, containers: [{name: a, image: b}]}}}}`,
	"a CronJob":                           `{apiVersion: batch/v1, kind: CronJob, spec: {jobTemplate: {spec: {template: ` + pods + `}}}}`,
	"a JobSet": `{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, spec: {replicatedJobs: [
		{name: a, replicas: 2, template: {spec: {parallelism: 3, template: ` + pods + `}}},
		{name: b, template: {spec: {parallelism: 3, completions: 2, template: ` + typed + `}}}]}}`,
	"a JobSet with one replicatedJob":      `{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, spec: {replicatedJobs: [{name: a, template: {spec: {template: ` + pods + `}}}]}}`,
	"a JobSet with an empty list":          `{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, spec: {replicatedJobs: []}}`,
	"a JobSet without a list":              `{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, spec: {}}`,
	"a JobSet without templates":           `{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, spec: {replicatedJobs: [{name: a}]}}`,
	"a PyTorchJob":                         `{apiVersion: kubeflow.org/v1, kind: PyTorchJob, spec: {pytorchReplicaSpecs: {Worker: {replicas: 3, template: ` + pods + `}, Master: {replicas: 1, template: ` + typed + `}}}}`,
	"a PyTorchJob without a master":        `{apiVersion: kubeflow.org/v1, kind: PyTorchJob, spec: {pytorchReplicaSpecs: {Worker: {template: ` + pods + `}}}}`,
	"a PyTorchJob without workers":         `{apiVersion: kubeflow.org/v1, kind: PyTorchJob, spec: {pytorchReplicaSpecs: {Master: {template: ` + pods + `}}}}`,
	"a PyTorchJob with invalid replicas":   `{apiVersion: kubeflow.org/v1, kind: PyTorchJob, spec: {pytorchReplicaSpecs: {Worker: {replicas: many, template: ` + pods + `}}}}`,
	"a PyTorchJob without roles":           `{apiVersion: kubeflow.org/v1, kind: PyTorchJob, spec: {}}`,
	"an MPIJob":                            `{apiVersion: kubeflow.org/v2beta1, kind: MPIJob, spec: {mpiReplicaSpecs: {Worker: {template: ` + pods + `}}}}`,
	"a RayCluster":                         `{apiVersion: ray.io/v1, kind: RayCluster, spec: {headGroupSpec: {template: ` + typed + `}, workerGroupSpecs: [{replicas: 2, template: ` + pods + `}, {template: ` + pods + `}]}}`,
	"a RayCluster without workers":         `{apiVersion: ray.io/v1, kind: RayCluster, spec: {headGroupSpec: {template: ` + pods + `}}}`,
	"a RayCluster with multi-host workers": `{apiVersion: ray.io/v1, kind: RayCluster, spec: {headGroupSpec: {template: ` + pods + `}, workerGroupSpecs: [{replicas: 2, numOfHosts: 4, template: ` + pods + `}]}}`,
	"a RayCluster without a head":          `{apiVersion: ray.io/v1, kind: RayCluster, spec: {workerGroupSpecs: [{template: ` + pods + `}]}}`,
	"a RayCluster without a spec":          `{apiVersion: ray.io/v1, kind: RayCluster}`,
	"a RayJob":                             `{apiVersion: ray.io/v1, kind: RayJob, spec: {rayClusterSpec: {headGroupSpec: {template: ` + pods + `}, workerGroupSpecs: [{replicas: 2, template: ` + pods + `}]}}}`,
	"a RayJob with a submitter":            `{apiVersion: ray.io/v1, kind: RayJob, spec: {submitterPodTemplate: ` + pods + `, rayClusterSpec: {headGroupSpec: {template: ` + pods + `}}}}`,
	"a RayJob on another cluster":          `{apiVersion: ray.io/v1, kind: RayJob, spec: {clusterSelector: {a: b}}}`,
	"a RayService":                         `{apiVersion: ray.io/v1, kind: RayService, spec: {}}`,
	"a LeaderWorkerSet":                    `{apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, spec: {leaderWorkerTemplate: {size: 2, workerTemplate: ` + pods + `}}}`,
	"an ElasticJob":                        `{apiVersion: elastic.pytorch.org/v1alpha1, kind: ElasticJob, spec: {replicaSpecs: {Worker: {template: ` + pods + `}}}}`,
	"an unknown kind":                      `{apiVersion: example.com/v1, kind: Gadget, spec: {template: ` + pods + `}}`,
	"a Job with pod-level requests":        `{apiVersion: batch/v1, kind: Job, spec: {template: {spec: {resources: {requests: {cpu: 1}}, containers: [{name: a, image: b}]}}}}`,
}

// inferred is the result of inferring the pod sets of a template. Kueue uses the upstream library for this.
type inferred struct {
	Sets   []v1beta2.AppWrapperPodSet
	Refuse bool
}

func TestPodSetsMatchThePublishedLibrary(t *testing.T) {
	for name, template := range templates {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(template), &object.Object); err != nil {
			t.Fatal(err)
		}
		want, wantErr := utils.InferPodSets(object.DeepCopy())
		got, err := podset.Infer(object)
		for _, set := range got { // the webhook rejects these after the inference
			if _, unknown, _ := podset.Template(object.Object, set.Path); unknown != nil {
				err = unknown
			}
		}
		if diff := cmp.Diff(published(want, wantErr), ours(got, err), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: -published (%v) +ours (%v): %s", name, wantErr, err, diff)
		}
	}
}

func published(sets []theirs.AppWrapperPodSet, err error) inferred {
	if err != nil {
		return inferred{Refuse: true}
	}
	var all inferred
	for _, set := range sets {
		all.Sets = append(all.Sets, v1beta2.AppWrapperPodSet{Path: set.Path, Replicas: new(utils.Replicas(set)), Annotations: set.Annotations})
	}
	return all
}

func ours(sets []v1beta2.AppWrapperPodSet, err error) inferred {
	if err != nil {
		return inferred{Refuse: true}
	}
	return inferred{Sets: sets}
}
