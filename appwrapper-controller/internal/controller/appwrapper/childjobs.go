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

// observeChildJobs finds how many pods of JobSets that work in waves should run: the status of a JobSet calls a Job ready whose pods of one wave
// have succeeded. The pods are counted. A decision that ends the attempt reads the Jobs live, because succeeded pods may have been deleted.
func (r *Reconciler) observeChildJobs(ctx context.Context, s *scope, live bool) error {
	for i := range s.facts.Components {
		report, c := &s.facts.Components[i].Report, s.components[i]
		if len(report.ChildJobs) == 0 || c.meta == nil {
			continue
		}
		succeeded := succeededPods(s.pods, c.ref.Name)
		if live {
			var err error
			if succeeded, err = r.succeededOfJobs(ctx, c); err != nil {
				return err
			}
		}
		report.Active = health.AtWork(report.ChildJobs, succeeded)
	}
	return nil
}

func succeededPods(pods []*corev1.Pod, jobSet string) map[health.ChildJob]int32 {
	succeeded := map[health.ChildJob]int32{}
	for _, pod := range pods {
		if pod.Status.Phase == corev1.PodSucceeded && pod.Labels[jobSetName] == jobSet {
			succeeded[childJob(pod.Labels)]++
		}
	}
	return succeeded
}

func (r *Reconciler) succeededOfJobs(ctx context.Context, c wrapped) (map[health.ChildJob]int32, error) {
	var jobs batchv1.JobList
	if err := r.live.List(ctx, &jobs, client.InNamespace(c.ref.Namespace), client.MatchingLabels{jobSetName: c.ref.Name}); err != nil {
		return nil, fmt.Errorf("listing the jobs of %s: %w", c.ref, err)
	}
	succeeded := map[health.ChildJob]int32{}
	for i := range jobs.Items {
		if job := &jobs.Items[i]; metav1.IsControlledBy(job, c.meta) {
			succeeded[childJob(job.Labels)] = job.Status.Succeeded
		}
	}
	return succeeded, nil
}
