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
	// maxRestarts bounds how often torchrun restarts its processes. Its default is 0, and each worker that leaves costs every other worker
	// one. A program that fails at its start uses them up within minutes.
	maxRestarts = 10
	// A round is complete lastCall after the least number of workers has joined, so that is what each shrinking costs; joinTimeout is
	// for images that are pulled at different speeds.
	lastCall    = "10"
	joinTimeout = "1800"
)

// environment of the workers, for launchers of all ages. What the template sets wins.
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
		// Ranks follow the order of the addresses: a name that outlives the pod keeps the rank of a worker that is replaced.
		{Name: "PET_LOCAL_ADDR", Value: WorkerName(job.Name, index)},
		// By default torch 2.4 and later keep the trainers' store in the first round's rank 0, and lose it with that worker.
		{Name: "TORCH_DISABLE_SHARE_RDZV_TCP_STORE", Value: "1"},
		{Name: "PYTHONUNBUFFERED", Value: "1"},
	}
	if gpus := processes(container); gpus > 0 {
		list = append(list, corev1.EnvVar{Name: "PET_NPROC_PER_NODE", Value: strconv.FormatInt(gpus, 10)})
	}
	return list
}

// configuration of the rendezvous. The store of c10d is never within a worker.
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

// processes is one for each GPU; 0 if there is none.
func processes(container *corev1.Container) int64 {
	var n int64
	for name, quantity := range container.Resources.Limits {
		if strings.HasSuffix(string(name), ".com/gpu") {
			n += quantity.Value()
		}
	}
	return n
}

// arguments of the launcher, for images that know no PET_ variables.
func arguments(job *v1alpha1.ElasticJob, runID string) []string {
	s := policy.Read(job)
	return []string{
		"--rdzv_backend=" + string(Backend(job)), "--rdzv_endpoint=" + Endpoint(job), "--rdzv_id=" + runID,
		fmt.Sprintf("--nnodes=%d:%d", s.Min, s.Max),
	}
}

// setAbsent adds variables that are not there.
func setAbsent(to []corev1.EnvVar, from []corev1.EnvVar) []corev1.EnvVar {
	there := map[string]bool{}
	for _, v := range to {
		there[v.Name] = true
	}
	for _, v := range from {
		if !there[v.Name] {
			to = append(to, v)
		}
	}
	return to
}
