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

// Settings is what a spec asks for, with all defaults filled in.
type Settings struct {
	Min, Max int
	// Wanted number of workers, between Min and Max, and not more than a queue has granted.
	Wanted  int
	Restart v1alpha1.RestartPolicy
	// Permanent exit codes.
	Permanent []int32
	// Backoff is the budget of each worker for failures of its program; nil: without limit.
	Backoff *restart.Budget
	// Disruptions is the budget of each worker for evictions and the like; nil: without limit.
	Disruptions *restart.Budget
	Success     v1alpha1.SuccessPolicy
	Clean       v1alpha1.CleanPodPolicy
	TTL         *time.Duration
	Deadline    *time.Duration
	Settle      time.Duration
	LostNode    time.Duration
	// SurplusPending 0: never.
	SurplusPending time.Duration
	SurplusRetry   time.Duration
	Suspend        bool
	// Queue that has not granted anything: the job is suspended, whoever says so first.
	Queue string
}

// Read a job. Objects that are older than the validation may hold anything, so all is brought within its bounds.
func Read(job *v1alpha1.ElasticJob) Settings {
	spec := &job.Spec
	run := RunPolicyOf(spec)
	s := Settings{
		Restart:   spec.ReplicaSpecs.Worker.RestartPolicy,
		Permanent: spec.ReplicaSpecs.Worker.PermanentExitCodes,
		Success:   ptr.Deref(spec.SuccessPolicy, v1alpha1.SuccessPolicy{Type: v1alpha1.SuccessAll}),
		Clean:     ptr.Deref(run.CleanPodPolicy, cleanByDefault(job)),
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
	s.readClocks(spec, run)
	return s
}

// RunPolicyOf is the run policy of a spec: what is at the top level, then what is in runPolicy, then what is in RunPolicy.
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

// Replicas is the number of workers that a spec asks for, as its documentation says.
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

func (s *Settings) readClocks(spec *v1alpha1.ElasticJobSpec, run v1alpha1.RunPolicy) {
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

func cleanByDefault(job *v1alpha1.ElasticJob) v1alpha1.CleanPodPolicy {
	if job.Labels[v1alpha1.QueueLabel] != "" {
		return v1alpha1.CleanRunning
	}
	return v1alpha1.CleanNone
}
