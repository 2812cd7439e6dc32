// Package jobset reconciles JobSets.
//
//	observe ──> decide ──> steps ──> status ──> events, counters
//	(reads)     (pure)     (writes)  (one patch, guarded by the observed resourceVersion)
//
// Everything except the status is level-triggered by the result of observe: repeating a step has no effect. The status
// contains what cannot be derived from other objects: the number of restarts and the terminal state. It is written
// last, and only if the JobSet has not changed since it was observed, so a decision based on a stale cache is never
// recorded. The effects of a decision (deleting the Jobs of earlier attempts, or the remaining ones) take place in the
// reconcile that observes the record.
//
// The only earlier write is the epoch annotation, see epoch.go.
package jobset

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/plan/inject"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/provenance"
	"github.com/holdfast-project/holdfast/shared/bootstrap/requeue"
)

// +kubebuilder:rbac:groups=jobset.x-k8s.io,resources=jobsets,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups=jobset.x-k8s.io,resources=jobsets/status,verbs=patch
// +kubebuilder:rbac:groups=jobset.x-k8s.io,resources=jobsets/finalizers,verbs=update
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=batch,resources=jobs/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=get;create
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;delete
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;patch

// Name is the name of the controller in logs, metrics and events.
const Name = "jobset"

type Options struct {
	// Client reads from the cache and writes to the API server.
	Client client.Client
	// Live reads from the API server. It is used to confirm decisions that must not be based on a stale cache.
	Live     client.Reader
	Recorder events.EventRecorder
	Metrics  *Metrics
	// Clock is used for TTLs. The default is the real clock.
	Clock    clock.PassiveClock
	Features policy.Features
	// Agents configures the agents added to JobSets that request in-place restarts and do not include agents of their
	// own.
	Agents inject.Settings
	// Places reports whether a webhook places pods exclusively.
	Places bool
}

type Reconciler struct {
	Options
	// reported holds the warnings that were emitted, see warnOnce.
	reported *lru.Cache
	// written records the time of the last status write of each JobSet.
	written *lru.Cache
	// counters limits the writes of intermediate counts.
	counters flowcontrol.PassiveRateLimiter
	// notBefore delays work that was rejected, and work that is too expensive to repeat on every event.
	notBefore *notBefore
	// recreations holds the recreations in progress, as policy.Recreation by the UID of the JobSet, for the restart
	// history.
	recreations *lru.Cache
	// clearsStartTime is set if the API server requires a Job's start time to be cleared before its template changes.
	clearsStartTime atomic.Bool
}

func New(o Options) *Reconciler {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return &Reconciler{
		Options: o, reported: lru.New(cacheSize), written: lru.New(cacheSize),
		counters:  flowcontrol.NewTokenBucketPassiveRateLimiterWithClock(progressRate, progressRate, o.Clock),
		notBefore: newNotBefore(o.Clock), recreations: lru.New(cacheSize),
	}
}

func (r *Reconciler) Register(mgr ctrl.Manager) error {
	building := ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		For(&v1alpha2.JobSet{}, builder.WithPredicates(jobSetChanges())).
		Watches(&batchv1.Job{}, jobEvents()).
		Owns(&corev1.Service{})
	if r.Features.InPlaceRestart {
		building.Watches(&corev1.Pod{}, podEvents())
	}
	return building.Complete(reconcile.AsReconciler(mgr.GetClient(), r))
}

func (r *Reconciler) Reconcile(ctx context.Context, js *v1alpha2.JobSet) (ctrl.Result, error) {
	if !js.DeletionTimestamp.IsZero() || !policy.Ours(js) {
		return ctrl.Result{}, nil
	}
	if provenance.Copied(js.Annotations, js.UID) {
		return r.dropCopied(ctx, js)
	}
	if pause := r.pauseAfterWrites(js); pause.RequeueAfter > 0 {
		return pause, nil
	}
	s, err := r.observe(ctx, js)
	if err != nil {
		return ctrl.Result{}, err
	}
	r.reportProblems(s)
	var result ctrl.Result
	var errs []error
	for _, run := range append(r.steps(s), r.writeStatus) { // a failed step does not prevent the others from running
		again, err := run(ctx, s)
		result, errs = soonest(result, again), append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return ctrl.Result{}, err
	}
	return soonest(result, r.pauseAfterWrites(js)), nil
}

// step is one step of a reconcile. It is idempotent and may be repeated at any time.
type step func(context.Context, *scope) (ctrl.Result, error)

func (r *Reconciler) steps(s *scope) []step {
	switch {
	case s.finished():
		return []step{r.deleteRemaining, r.releaseStuckPods, r.expire}
	case s.faults.Stops() && !s.decides() && s.suspended(): // running Jobs are stopped anyway
		return []step{r.suspendJobs}
	case s.faults.Stops() && !s.decides():
		return nil
	case s.decides():
		return []step{r.confirm, r.openRestartEpoch, r.deletePrevious}
	case s.suspended() && s.queuesStages():
		return []step{r.deletePrevious, r.releaseStuckPods, r.ensureService, r.suspendJobs}
	case s.suspended():
		return []step{r.deletePrevious, r.releaseStuckPods, r.ensureService, r.createJobs, r.resizeJobs, r.resizeSpares, r.suspendJobs}
	default:
		return []step{
			r.deletePrevious, r.releaseStuckPods, r.ensureService, r.createJobs, r.resizeJobs, r.resizeSpares, r.finishEmptying, r.resumeJobs,
			r.accountRecreation,
		}
	}
}

func soonest(a, b ctrl.Result) ctrl.Result {
	return ctrl.Result{RequeueAfter: requeue.Soonest(a.RequeueAfter, b.RequeueAfter)}
}

// Event reasons for added agents.
const (
	inPlaceNotConfigured = "InPlaceNotConfigured" // a setting that the manager needs to add agents is missing
	inPlaceDoubtful      = "InPlaceDoubtful"      // a setting impedes in-place restarts
	sparesLater          = "SparesLater"          // running workers were created without spares
)

// agents describes the agents of a JobSet that requests in-place restarts.
type agents struct {
	assessment inject.Assessment
	plan       inject.Plan
	lacks      string // see inject.Settings.Lacks
}

func (s *scope) planAgents(settings inject.Settings) {
	if !s.InPlace.Enabled {
		return
	}
	assessment := inject.Assess(s.jobSet)
	s.agents = agents{
		assessment: assessment,
		plan:       inject.For(assessment, slices.Concat(s.Jobs.Current(), s.Jobs.Spares), settings),
		lacks:      settings.Lacks(assessment),
	}
	if s.agents.lacks == "" { // running Jobs keep their agents, and recreated Jobs get none
		s.faults.Other = append(s.faults.Other, assessment.Problems...)
	}
}

func (s *scope) builder() *plan.Builder {
	b := plan.NewBuilder(s.jobSet, s.Epoch)
	b.Agents, b.CountsSingle = s.agents.plan, s.features.RestartJob
	return b
}

// reportAgents warns about settings that impede or prevent in-place restarts or spares.
func (r *Reconciler) reportAgents(s *scope) {
	for _, warning := range s.agents.assessment.Warnings {
		r.warnOnce(s.jobSet, inPlaceDoubtful, warning)
	}
	for i := range s.jobSet.Spec.ReplicatedJobs {
		if rjob := s.jobSet.Spec.ReplicatedJobs[i].Name; s.agents.plan.Spares(i) > 0 && !s.supportsSpares(rjob) {
			r.warnOnce(s.jobSet, sparesLater, "the workers of replicatedJob "+rjob+" run without spares; spares are added when its Jobs are recreated")
		}
	}
	if s.agents.lacks != "" {
		r.warnOnce(s.jobSet, inPlaceNotConfigured, s.agents.lacks+"; the jobs run without in-place restarts")
	}
}
