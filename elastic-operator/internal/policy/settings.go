package policy

import (
	"cmp"
	"time"

	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/shared/restart"
)

const defaultBackoffLimit = 3

// Settings contains the settings of a job with all defaults applied.
type Settings struct {
	Min, Max int
	// Wanted is the desired number of workers, between Min and Max and at most the number that Kueue has admitted.
	Wanted    int
	Restart   v1alpha1.RestartPolicy
	Permanent []int32 // exit codes
	// Backoff is each worker's budget for failures of its program. nil means no limit.
	Backoff *restart.Budget
	// Disruptions is each worker's budget for disruptions. nil means no limit.
	Disruptions    *restart.Budget
	Success        v1alpha1.SuccessPolicy
	Clean          v1alpha1.CleanPodPolicy
	TTL            *time.Duration
	Deadline       *time.Duration
	Settle         time.Duration
	LostNode       time.Duration
	SurplusPending time.Duration // 0 means never
	SurplusRetry   time.Duration
	Suspend        bool
	// Queue is the queue in which the job is waiting for admission. It is empty if the job has no queue or has been admitted.
	Queue string
}

// Read returns the settings of a job. It enforces all bounds, because objects created before the CRD's validation rules may violate them.
func Read(job *v1alpha1.ElasticJob) Settings {
	spec := &job.Spec
	run, elastic := runPolicy(spec), ptr.Deref(spec.ElasticPolicy, v1alpha1.ElasticPolicy{})
	s := Settings{
		Restart:        cmp.Or(spec.ReplicaSpecs.Worker.RestartPolicy, v1alpha1.RestartExitCode),
		Permanent:      spec.ReplicaSpecs.Worker.PermanentExitCodes,
		Backoff:        (*restart.Budget)(run.BackoffLimit),
		Disruptions:    (*restart.Budget)(elastic.DisruptionLimit),
		Success:        ptr.Deref(spec.SuccessPolicy, v1alpha1.SuccessPolicy{Type: v1alpha1.SuccessAll}),
		Settle:         seconds(elastic.SettleSeconds, 30),
		LostNode:       seconds(elastic.LostNodeSeconds, 60),
		SurplusPending: seconds(elastic.SurplusPendingSeconds, 600),
		SurplusRetry:   seconds(elastic.SurplusRetrySeconds, 1800),
		Suspend:        spec.Suspend,
	}
	if s.Backoff == nil && s.Restart != v1alpha1.RestartAlways {
		s.Backoff = new(restart.Budget(defaultBackoffLimit))
	}
	if ttl := run.TTLSecondsAfterFinished; ttl != nil {
		s.TTL = new(time.Duration(*ttl) * time.Second)
	}
	if deadline := run.ActiveDeadlineSeconds; deadline != nil {
		s.Deadline = new(time.Duration(*deadline) * time.Second)
	}
	defaultClean := v1alpha1.CleanNone
	if queue := job.Labels[v1alpha1.QueueLabel]; queue != "" {
		defaultClean = v1alpha1.CleanRunning
		if spec.GrantedReplicas == nil {
			s.Suspend, s.Queue = true, queue
		}
	}
	s.Clean = ptr.Deref(run.CleanPodPolicy, defaultClean)
	s.readSize(spec)
	return s
}

// runPolicy merges the run policies of a spec. Fields at the top level take precedence over runPolicy, and runPolicy takes precedence over
// RunPolicy.
func runPolicy(spec *v1alpha1.ElasticJobSpec) v1alpha1.RunPolicy {
	run := spec.RunPolicy
	for _, other := range []*v1alpha1.RunPolicy{spec.NestedRunPolicy, spec.LegacyRunPolicy} {
		if other != nil {
			run.CleanPodPolicy = cmp.Or(run.CleanPodPolicy, other.CleanPodPolicy)
			run.TTLSecondsAfterFinished = cmp.Or(run.TTLSecondsAfterFinished, other.TTLSecondsAfterFinished)
			run.ActiveDeadlineSeconds = cmp.Or(run.ActiveDeadlineSeconds, other.ActiveDeadlineSeconds)
			run.BackoffLimit = cmp.Or(run.BackoffLimit, other.BackoffLimit)
		}
	}
	return run
}

// readSize reads the sizes and limits them. The CRD limits them as well, but not for jobs that were created before its limits were added.
func (s *Settings) readSize(spec *v1alpha1.ElasticJobSpec) {
	limit := func(n int32) int { return int(min(max(1, n), v1alpha1.MaxWorkers)) }
	replicas := *cmp.Or(spec.ReplicaSpecs.Worker.Replicas, spec.MaxReplicas, spec.MinReplicas, ptr.To(int32(1)))
	s.Min = limit(ptr.Deref(spec.MinReplicas, replicas))
	s.Max = max(s.Min, limit(ptr.Deref(spec.MaxReplicas, replicas)))
	s.Wanted = min(max(s.Min, limit(replicas)), s.Max)
	if granted := spec.GrantedReplicas; granted != nil {
		if spec.MinReplicas == nil { // otherwise, a larger value of replicas would need more than was granted
			s.Min = min(s.Min, limit(*granted))
		}
		s.Wanted = max(s.Min, min(s.Wanted, int(*granted)))
	}
}

func seconds(n *int32, absent int32) time.Duration {
	return time.Duration(ptr.Deref(n, absent)) * time.Second
}
