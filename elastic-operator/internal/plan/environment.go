package plan

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/elastic-operator/internal/policy"
)

const (
	// maxRestarts limits how often torchrun restarts its processes. torchrun's default is 0, but each worker that leaves causes one restart
	// on every other worker. A program that fails at its start exhausts the limit within minutes.
	maxRestarts = 10
	// lastCall is how long, in seconds, a round waits for more workers after the minimum has joined. Every loss of a worker costs this time.
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
		// By default torch 2.4 and later keep the trainers' store in rank 0 of the first round, and lose it with that worker.
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
	parts := []string{"join_timeout=" + joinTimeout, "last_call_timeout=" + lastCall}
	if Backend(job) == v1alpha1.BackendEtcd {
		parts = []string{"timeout=" + joinTimeout, "last_call_timeout=" + lastCall}
	}
	if Backend(job) == v1alpha1.BackendC10d && Managed(job) {
		parts = append(parts, "is_host=0")
	}
	return strings.Join(parts, ",")
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
