package policy

import (
	"time"

	"k8s.io/utils/ptr"

	"github.com/holdfast-project/holdfast/elastic-operator/api/v1alpha1"
	"github.com/holdfast-project/holdfast/shared/restart"
)

const (
	defaultBackoffLimit   = 3
	defaultSettle         = 30 * time.Second
	defaultLostNode       = time.Minute
	defaultSurplusPending = 10 * time.Minute
	defaultSurplusRetry   = 30 * time.Minute
)

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
	run := RunPolicyOf(spec)
	s := Settings{
		Restart:   spec.ReplicaSpecs.Worker.RestartPolicy,
		Permanent: spec.ReplicaSpecs.Worker.PermanentExitCodes,
		Success:   ptr.Deref(spec.SuccessPolicy, v1alpha1.SuccessPolicy{Type: v1alpha1.SuccessAll}),
		Clean:     ptr.Deref(run.CleanPodPolicy, defaultCleanPolicy(job)),
		Suspend:   spec.Suspend,
	}
	if queue := job.Labels[v1alpha1.QueueLabel]; queue != "" && spec.GrantedReplicas == nil {
		s.Suspend, s.Queue = true, queue
	}
	if s.Restart == "" {
		s.Restart = v1alpha1.RestartExitCode
	}
	s.readSize(spec)
	s.readBudgets(spec, run)
	s.readTimes(spec, run)
	return s
}

// RunPolicyOf merges the run policies of a spec. Fields at the top level take precedence over runPolicy, and those over RunPolicy.
func RunPolicyOf(spec *v1alpha1.ElasticJobSpec) v1alpha1.RunPolicy {
	run := spec.RunPolicy
	for _, other := range []*v1alpha1.RunPolicy{spec.NestedRunPolicy, spec.LegacyRunPolicy} {
		if other == nil {
			continue
		}
		fill(&run.CleanPodPolicy, other.CleanPodPolicy)
		fill(&run.TTLSecondsAfterFinished, other.TTLSecondsAfterFinished)
		fill(&run.ActiveDeadlineSeconds, other.ActiveDeadlineSeconds)
		fill(&run.BackoffLimit, other.BackoffLimit)
	}
	return run
}

func fill[T any](target **T, value *T) {
	if *target == nil {
		*target = value
	}
}

// Replicas returns the number of replicas in a spec, or its default.
func Replicas(spec *v1alpha1.ElasticJobSpec) int32 {
	for _, n := range []*int32{spec.ReplicaSpecs.Worker.Replicas, spec.MaxReplicas, spec.MinReplicas} {
		if n != nil {
			return *n
		}
	}
	return 1
}

func (s *Settings) readSize(spec *v1alpha1.ElasticJobSpec) {
	replicas := int(max(1, Replicas(spec)))
	s.Min = max(1, int(ptr.Deref(spec.MinReplicas, int32(replicas))))
	s.Max = max(s.Min, int(ptr.Deref(spec.MaxReplicas, int32(replicas))))
	s.Wanted = min(max(s.Min, replicas), s.Max)
	if granted := spec.GrantedReplicas; granted != nil {
		s.Wanted = max(s.Min, min(s.Wanted, int(*granted)))
	}
}

func (s *Settings) readBudgets(spec *v1alpha1.ElasticJobSpec, run v1alpha1.RunPolicy) {
	switch {
	case run.BackoffLimit != nil:
		s.Backoff = new(restart.Budget(*run.BackoffLimit))
	case s.Restart != v1alpha1.RestartAlways:
		s.Backoff = new(restart.Budget(defaultBackoffLimit))
	}
	if p := spec.ElasticPolicy; p != nil && p.DisruptionLimit != nil {
		s.Disruptions = new(restart.Budget(*p.DisruptionLimit))
	}
}

func (s *Settings) readTimes(spec *v1alpha1.ElasticJobSpec, run v1alpha1.RunPolicy) {
	p := ptr.Deref(spec.ElasticPolicy, v1alpha1.ElasticPolicy{})
	s.Settle = seconds(p.SettleSeconds, defaultSettle)
	s.LostNode = seconds(p.LostNodeSeconds, defaultLostNode)
	s.SurplusPending = seconds(p.SurplusPendingSeconds, defaultSurplusPending)
	s.SurplusRetry = seconds(p.SurplusRetrySeconds, defaultSurplusRetry)
	if ttl := run.TTLSecondsAfterFinished; ttl != nil {
		s.TTL = new(time.Duration(*ttl) * time.Second)
	}
	if deadline := run.ActiveDeadlineSeconds; deadline != nil {
		s.Deadline = new(time.Duration(*deadline) * time.Second)
	}
}

func seconds(n *int32, absent time.Duration) time.Duration {
	if n == nil {
		return absent
	}
	return time.Duration(*n) * time.Second
}

func defaultCleanPolicy(job *v1alpha1.ElasticJob) v1alpha1.CleanPodPolicy {
	if job.Labels[v1alpha1.QueueLabel] != "" {
		return v1alpha1.CleanRunning
	}
	return v1alpha1.CleanNone
}
