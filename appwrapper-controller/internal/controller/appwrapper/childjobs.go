package appwrapper

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/appwrapper-controller/internal/health"
)

// Labels of the Jobs of a JobSet and of their pods.
const (
	jobSetName          = "jobset.sigs.k8s.io/jobset-name"
	jobSetReplicatedJob = "jobset.sigs.k8s.io/replicatedjob-name"
	jobSetJobIndex      = "jobset.sigs.k8s.io/job-index"
)

func childJob(labels map[string]string) health.ChildJob {
	return health.ChildJob{ReplicatedJob: labels[jobSetReplicatedJob], Index: labels[jobSetJobIndex]}
}

// observeChildJobs finds how many pods of JobSets have succeeded and how many should run. The status of a JobSet does not say: it calls a Job
// ready whose pods of one wave have succeeded. Pods do not say either, because those that succeeded may have been deleted.
func (r *Reconciler) observeChildJobs(ctx context.Context, s *scope, live bool) error {
	var jobs client.Reader = r.client
	if live {
		jobs = r.live
	}
	for i := range s.facts.Components {
		report, c := &s.facts.Components[i].Report, s.components[i]
		if len(report.ChildJobs) == 0 || c.meta == nil {
			continue
		}
		succeeded, err := succeededPods(ctx, jobs, c, s.pods)
		if err != nil {
			return err
		}
		report.Active = health.AtWork(report.ChildJobs, succeeded)
		report.Succeeded = 0
		for _, pods := range succeeded {
			report.Succeeded += pods
		}
	}
	return nil
}

// succeededPods counts the pods of each Job of a JobSet that have succeeded: those that the Job's status counts, or those that are there, since
// that status comes later.
func succeededPods(ctx context.Context, from client.Reader, jobSet wrapped, pods []*corev1.Pod) (map[health.ChildJob]int32, error) {
	succeeded := map[health.ChildJob]int32{}
	for _, pod := range pods {
		if pod.Status.Phase == corev1.PodSucceeded && pod.Labels[jobSetName] == jobSet.ref.Name {
			succeeded[childJob(pod.Labels)]++
		}
	}
	var jobs batchv1.JobList
	if err := from.List(ctx, &jobs, client.InNamespace(jobSet.ref.Namespace), client.MatchingLabels{jobSetName: jobSet.ref.Name}); err != nil {
		return nil, fmt.Errorf("listing the jobs of %s: %w", jobSet.ref, err)
	}
	for i := range jobs.Items {
		if job := &jobs.Items[i]; metav1.IsControlledBy(job, jobSet.meta) {
			child := childJob(job.Labels)
			succeeded[child] = max(succeeded[child], job.Status.Succeeded)
		}
	}
	return succeeded, nil
}
