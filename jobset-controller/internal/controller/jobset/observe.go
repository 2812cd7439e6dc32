package jobset

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/validation"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
)

// observe does all reads of a reconcile except the live ones, and makes all decisions.
func (r *Reconciler) observe(ctx context.Context, js *v1alpha2.JobSet) (*scope, error) {
	s := &scope{jobSet: js, features: r.Features, faults: validation.Of(js, r.Features)}
	s.InPlace = policy.ReadInPlace(js.Annotations)
	if err := r.readJobs(ctx, s); err != nil {
		return nil, err
	}
	if err := r.readAttempts(ctx, s); err != nil {
		return nil, err
	}
	s.planAgents(r.Agents)
	s.decide()
	if err := r.completeWithSpares(ctx, s); err != nil {
		return nil, err
	}
	if err := r.readService(ctx, s); err != nil {
		return nil, err
	}
	return s, nil
}

// readEpoch reads the annotation of the JobSet. If it is damaged, the number is derived from the Jobs, so that it never
// decreases.
func (s *scope) readEpoch(jobs []batchv1.Job) epoch.Record {
	current, err := epoch.Of(s.jobSet.Annotations)
	if err == nil {
		return current
	}
	path := field.NewPath("metadata", "annotations").Key(epoch.Annotation)
	s.faults.Other = append(s.faults.Other, field.Invalid(path, s.jobSet.Annotations[epoch.Annotation], err.Error()))
	for i := range jobs {
		current.Epoch = max(current.Epoch, epoch.OfJob(jobs[i].Annotations))
	}
	return current
}

func (r *Reconciler) readJobs(ctx context.Context, s *scope) error {
	var jobs batchv1.JobList
	err := r.Client.List(ctx, &jobs, client.InNamespace(s.jobSet.Namespace),
		client.MatchingFields{ownerIndex: string(s.jobSet.UID)}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return fmt.Errorf("listing jobs: %w", err)
	}
	s.Epoch = s.readEpoch(jobs.Items)
	s.Jobs = policy.SortJobs(jobs.Items, &s.jobSet.Status, s.Epoch)
	return nil
}

// readAttempts reads the attempts reported by the agents of restartStrategy InPlaceRestart.
func (r *Reconciler) readAttempts(ctx context.Context, s *scope) error {
	if !r.Features.InPlaceRestart || !policy.UsesAttempts(&s.jobSet.Spec) || s.finished() {
		return nil
	}
	var pods corev1.PodList
	err := r.Client.List(ctx, &pods, client.InNamespace(s.jobSet.Namespace),
		client.MatchingFields{podIndex: string(s.jobSet.UID)}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return fmt.Errorf("listing pods: %w", err)
	}
	attempts := policy.ReadAttempts(&s.jobSet.Spec, s.Jobs, pods.Items)
	s.Attempts = &attempts
	return nil
}

func (r *Reconciler) readService(ctx context.Context, s *scope) error {
	var service corev1.Service
	if err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.jobSet.Namespace, Name: plan.Subdomain(s.jobSet)}, &service); err != nil {
		return ignoreNotFound("getting service", err)
	}
	s.service = &service
	return nil
}

func (s *scope) decide() {
	spec := &s.jobSet.Spec
	s.Spec, s.Status = spec, &s.jobSet.Status
	s.Tallies = policy.Tally(spec, s.Jobs, s.jobSet.Status.ReplicatedJobsStatus)
	s.gates = policy.Gates(spec, s.Tallies)
	if s.finished() {
		s.keepSuccesses()
		return
	}
	if s.faults.Stops() { // nothing is started; running Jobs may finish
		s.decision = policy.Success(s.Facts)
		return
	}
	s.decision = policy.Decide(s.Facts)
}

// scope holds everything known in one reconcile. observe fills it in, and steps add their results.
type scope struct {
	// jobSet is the observed JobSet. Only its resourceVersion and epoch annotation are updated, when the epoch is written.
	jobSet *v1alpha2.JobSet
	// Facts are the input of the decision. The Jobs are shared with the cache and must not be modified.
	policy.Facts
	// service is the Service of the JobSet, or nil if it is not in the cache.
	service  *corev1.Service
	agents   agents
	features policy.Features
	// faults lists the faults of the spec. Some of them stop everything except counting.
	faults validation.Problems
	// refused is why the API server rejects the Jobs, or "" if it does not.
	refused string
	// jobsExist is true if all Jobs that may start exist.
	jobsExist bool
	// gates reports for each replicatedJob, in spec order, whether it may start.
	gates    []bool
	decision policy.Decision

	// claimsErr is the reason why volume claims do not exist yet. Jobs wait for them.
	claimsErr error
	// decided is true if live reads have confirmed the decision and the preceding steps are done.
	decided bool
	// settled is true if all Jobs are suspended or resumed as spec.suspend requires.
	settled bool
	// pending holds the events to be emitted after the status has been written.
	pending []notice
}

func (s *scope) suspended() bool { return ptr.Deref(s.jobSet.Spec.Suspend, false) }

// decides reports whether a decision was made about the JobSet as a whole.
func (s *scope) decides() bool { return s.decision.Outcome != policy.Continue }

// finished reports whether a terminal condition is recorded. It is read from the status because it is the record of a
// decision.
func (s *scope) finished() bool {
	return s.has(v1alpha2.JobSetCompleted) || s.has(v1alpha2.JobSetFailed)
}

// has reports whether the observed condition is True.
func (s *scope) has(kind v1alpha2.JobSetConditionType) bool {
	return meta.IsStatusConditionTrue(s.jobSet.Status.Conditions, string(kind))
}
