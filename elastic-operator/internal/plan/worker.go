// Package plan builds the objects of an ElasticJob: the pods and services of its workers and of the managed rendezvous server. It performs
// no I/O.
package plan

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/indexes"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/policy"
	"github.com/holdfast-project/holdfast/shared/bootstrap/supervise"
)

// WorkerPod returns the pod of a worker. resumes is the number of times that the job has been resumed.
func WorkerPod(job *v1alpha1.ElasticJob, index int, resumes int32) *corev1.Pod {
	template := job.Spec.ReplicaSpecs.Worker.Template.PodTemplateSpec.DeepCopy()
	pod := &corev1.Pod{ObjectMeta: owned(job, WorkerName(job.Name, index), labels.Merge(template.Labels, WorkerLabels(job.Name, index))), Spec: template.Spec}
	pod.Annotations, pod.Finalizers = template.Annotations, template.Finalizers
	pod.Spec.RestartPolicy = restartPolicy(job)
	runID := RunID(job, resumes)
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		c.Env = supervise.WithEnvironment(c.Env, environment(job, index, runID, c))
	}
	if job.Annotations[v1alpha1.InjectArgumentsKey] == "true" && len(pod.Spec.Containers) > 0 {
		c := &pod.Spec.Containers[0] // the others are sidecars
		c.Args = append(arguments(job, runID), c.Args...)
	}
	return pod
}

// WorkerService returns the service through which a worker's name resolves. It includes workers that are not ready, because workers become
// ready only after they have connected to each other.
func WorkerService(job *v1alpha1.ElasticJob, index int) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: owned(job, WorkerName(job.Name, index), WorkerLabels(job.Name, index)),
		Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone, PublishNotReadyAddresses: true, Selector: WorkerLabels(job.Name, index),
		},
	}
}

// restartPolicy returns the restart policy of the pods. With ExitCode the operator replaces failed pods, so the kubelet must not restart
// them.
func restartPolicy(job *v1alpha1.ElasticJob) corev1.RestartPolicy {
	switch restart := policy.Read(job).Restart; restart {
	case v1alpha1.RestartAlways, v1alpha1.RestartOnFailure:
		return corev1.RestartPolicy(restart)
	}
	return corev1.RestartPolicyNever
}

// WorkerName returns the name of a worker's pod and service.
func WorkerName(job string, index int) string {
	return fmt.Sprintf("%s-%s-%d", job, v1alpha1.ReplicaTypeWorker, index)
}

// WorkerLabels returns the labels of a worker's pod and service, which are also the service's selector.
func WorkerLabels(job string, index int) map[string]string {
	return labels.Merge(labelsOf(job, v1alpha1.ReplicaTypeWorker), labels.Set{v1alpha1.ReplicaIndexLabel: strconv.Itoa(index)})
}

// labelsOf returns the labels that all pods and services of a replica type have in common.
func labelsOf(job, replicaType string) labels.Set {
	return labels.Set{v1alpha1.GroupNameLabel: v1alpha1.GroupName, v1alpha1.JobNameLabel: job, v1alpha1.ReplicaTypeLabel: replicaType}
}

// Selector returns the label selector of all workers of a job.
func Selector(job string) string { return labelsOf(job, v1alpha1.ReplicaTypeWorker).String() }

// IndexOf returns the worker index of a pod or service. It returns false if the label and the name do not match each other. It ignores the
// object's owner.
func IndexOf(o metav1.Object, job string) (int, bool) {
	if o.GetLabels()[v1alpha1.ReplicaTypeLabel] != v1alpha1.ReplicaTypeWorker {
		return 0, false
	}
	index, err := strconv.Atoi(o.GetLabels()[v1alpha1.ReplicaIndexLabel])
	if err != nil || index < 0 || index >= indexes.Max || o.GetName() != WorkerName(job, index) {
		return 0, false
	}
	return index, true
}

// owned returns the metadata of an object that the job controls.
func owned(job *v1alpha1.ElasticJob, name string, labels map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: name, Namespace: job.Namespace, Labels: labels,
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, v1alpha1.GroupVersion.WithKind(v1alpha1.Kind))},
	}
}

const (
	// maxRestarts limits how often torchrun restarts its processes. torchrun's default is 0, but each departing worker causes one restart
	// of every other worker. A program that fails on startup exhausts the limit within minutes.
	maxRestarts = 10
	// lastCall is how long, in seconds, a round waits for more workers after the minimum has joined. Every lost worker costs this much time.
	lastCall = "10"
	// joinTimeout is the time limit for joining, in seconds. It covers nodes that pull the image at different speeds.
	joinTimeout = "1800"
)

// environment returns the environment of a worker, with the variables of old and new launchers. Variables in the template take precedence.
func environment(job *v1alpha1.ElasticJob, index int, runID string, container *corev1.Container) []corev1.EnvVar {
	s := policy.Read(job)
	nodes := fmt.Sprintf("%d:%d", s.Min, s.Max)
	list := []corev1.EnvVar{
		{Name: "RDZV_ENDPOINT", Value: Endpoint(job)},
		{Name: "JOB_ID", Value: job.Name},
		{Name: "SIZE", Value: strconv.Itoa(s.Wanted)},
		{Name: "MIN_SIZE", Value: strconv.Itoa(s.Min)},
		{Name: "MAX_SIZE", Value: strconv.Itoa(s.Max)},
		{Name: "PET_NNODES", Value: nodes},
		{Name: "PET_RDZV_BACKEND", Value: string(Backend(job))},
		{Name: "PET_RDZV_ENDPOINT", Value: Endpoint(job)},
		{Name: "PET_RDZV_ID", Value: runID},
		{Name: "PET_RDZV_CONF", Value: configuration(job)},
		{Name: "PET_MAX_RESTARTS", Value: strconv.Itoa(maxRestarts)},
		// torch assigns ranks in the order of the addresses. With a stable name a replaced worker keeps its rank.
		{Name: "PET_LOCAL_ADDR", Value: WorkerName(job.Name, index)},
		// By default, torch 2.4 and later keep the trainers' store on rank 0 of the first round, and lose it with that worker.
		{Name: "TORCH_DISABLE_SHARE_RDZV_TCP_STORE", Value: "1"},
		{Name: "PYTHONUNBUFFERED", Value: "1"},
	}
	if gpus := processes(container); gpus > 0 {
		list = append(list, corev1.EnvVar{Name: "PET_NPROC_PER_NODE", Value: strconv.FormatInt(gpus, 10)})
	}
	return list
}

// configuration returns the rendezvous configuration. With the managed rendezvous no worker hosts the c10d store.
func configuration(job *v1alpha1.ElasticJob) string {
	text := "join_timeout=" + joinTimeout + ",last_call_timeout=" + lastCall
	if Backend(job) == v1alpha1.BackendEtcd {
		text = "timeout=" + joinTimeout + ",last_call_timeout=" + lastCall
	}
	if Managed(job) {
		text += ",is_host=0"
	}
	return text
}

// processes returns the number of processes per worker: one for each GPU, or 0 without GPUs.
func processes(container *corev1.Container) int64 {
	var n int64
	for name, quantity := range container.Resources.Limits {
		if strings.HasSuffix(string(name), ".com/gpu") {
			n += quantity.Value()
		}
	}
	return n
}

// arguments returns the launcher arguments, for launchers that do not read PET_ variables.
func arguments(job *v1alpha1.ElasticJob, runID string) []string {
	s := policy.Read(job)
	return []string{
		"--rdzv_backend=" + string(Backend(job)), "--rdzv_endpoint=" + Endpoint(job), "--rdzv_id=" + runID,
		fmt.Sprintf("--nnodes=%d:%d", s.Min, s.Max),
	}
}
