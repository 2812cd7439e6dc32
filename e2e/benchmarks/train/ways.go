package main

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/e2e/framework"
	"github.com/holdfast-project/holdfast/e2e/framework/torch"
	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
)

const (
	name = "train"
	// workers is the number of workers, each in its own pod.
	workers = 4
	// hangTimeout is the number of seconds after which a rank counts as hung, for the collectives of all ways and for
	// Holdfast's supervisor.
	hangTimeout = 15
	// leader is the address of worker 0.
	leader = name + "-workers-0-0." + name
)

// way is one way to recover from failures of a training job.
type way struct {
	name string
	// published selects the published JobSet controller instead of ours.
	published bool
	// records means that the store has a record of each restart.
	records bool
	// spare means that a pod waits on the second node, with its modules imported.
	spare  bool
	change func(*v1alpha2.JobSet)
}

// Ways that the page compares.
const (
	torchrunDefault = "torchrun, monitor interval 0.1 s (default)"
	torchrunBest    = "torchrun, monitor interval 0.01 s"
	warmStart       = "Holdfast exec, warm start"
	warmSpare       = "Holdfast exec, warm start, one spare"
	recreate        = "Recreate"
)

// ways lists the ways to recover in the order of the table.
var ways = []way{
	{name: torchrunDefault, change: torchrun("0.1")},
	{name: torchrunBest, change: torchrun("0.01")},
	{name: "Holdfast exec", records: true, change: supervised},
	{name: warmStart, records: true, change: warm},
	{name: "Holdfast CRI", records: true, change: func(js *v1alpha2.JobSet) {
		js.Annotations = map[string]string{v1alpha2.InPlaceTimeoutKey: "120s", v1alpha2.InPlaceDriverKey: "cri"}
	}},
	{name: "JobSet InPlaceRestart", published: true, change: framework.PublishedInPlace},
	{name: recreate, change: recreated},
	{name: warmSpare, records: true, spare: true, change: func(js *v1alpha2.JobSet) {
		warm(js)
		js.Annotations[v1alpha2.SparesKey] = "1"
	}},
}

// jobSet returns the training job, without a way to recover yet.
func jobSet(state string) *v1alpha2.JobSet {
	volumes, mounts := torch.Torch26.Volumes(state)
	index := &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.annotations['" + batchv1.JobCompletionIndexAnnotation + "']"}}
	container := corev1.Container{
		Name: "worker", Image: torch.Image, Command: []string{"/usr/bin/python3", "/state/train.py"}, VolumeMounts: mounts,
		Env: []corev1.EnvVar{
			{Name: "SLOT", ValueFrom: index}, {Name: "RANK", ValueFrom: index}, {Name: "WORLD_SIZE", Value: fmt.Sprint(workers)},
			{Name: "MASTER_ADDR", Value: leader}, {Name: "MASTER_PORT", Value: "29500"}, {Name: "STATE", Value: "/state"},
			{Name: "COLLECTIVE_TIMEOUT", Value: fmt.Sprint(hangTimeout)}, {Name: "PYTHONPATH", Value: "/state/python"},
			{Name: "USE_LIBUV", Value: "0"}, {Name: "OMP_NUM_THREADS", Value: "1"},
		},
	}
	js := &v1alpha2.JobSet{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}}
	js.Spec.FailurePolicy = &v1alpha2.FailurePolicy{MaxRestarts: 100}
	job := batchv1.JobSpec{Completions: ptr.To[int32](workers), Parallelism: ptr.To[int32](workers)}
	job.Template.Spec = corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyOnFailure, TerminationGracePeriodSeconds: ptr.To[int64](10),
		Containers: []corev1.Container{container}, Volumes: volumes,
	}
	js.Spec.ReplicatedJobs = []v1alpha2.ReplicatedJob{{Name: "workers", Replicas: 1, Template: batchv1.JobTemplateSpec{Spec: job}}}
	return js
}

func job(js *v1alpha2.JobSet) *batchv1.JobSpec     { return &js.Spec.ReplicatedJobs[0].Template.Spec }
func worker(js *v1alpha2.JobSet) *corev1.Container { return &job(js).Template.Spec.Containers[0] }
func set(c *corev1.Container, variable, value string) {
	c.Env = append(c.Env, corev1.EnvVar{Name: variable, Value: value})
}

// torchrun makes torchrun restart the ranks. The Job replaces lost pods.
func torchrun(interval string) func(*v1alpha2.JobSet) {
	return func(js *v1alpha2.JobSet) {
		job(js).BackoffLimit = ptr.To[int32](100)
		set(worker(js), "TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "1") // Debian builds PyTorch without libuv, which the shared store needs
		worker(js).Command = []string{
			"/usr/bin/python3", "-m", "torch.distributed.run", fmt.Sprintf("--nnodes=%d", workers), "--nproc-per-node=1", "--max-restarts=100",
			"--monitor-interval=" + interval, "--rdzv-backend=c10d", "--rdzv-endpoint=" + leader + ":29400", "--rdzv-id=" + name, "/state/train.py",
		}
	}
}

func supervised(js *v1alpha2.JobSet) {
	js.Annotations = map[string]string{v1alpha2.InPlaceTimeoutKey: "120s", v1alpha2.ProgressTimeoutKey: fmt.Sprintf("%ds", hangTimeout), v1alpha2.ProgressStartTimeoutKey: "5m"}
}

func warm(js *v1alpha2.JobSet) {
	supervised(js)
	set(worker(js), "HOLDFAST_PRELOAD", "torch,torch.distributed,torch._dynamo,torch.nn.parallel")
}

func recreated(js *v1alpha2.JobSet) {
	job(js).BackoffLimit = ptr.To[int32](0)
	job(js).Template.Spec.RestartPolicy = corev1.RestartPolicyNever
}
