package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/provenance"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/leader"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

//go:generate env GOWORK=off go tool -modfile=../../../tools/codegen/go.mod controller-gen rbac:roleName=orchestrator-role,fileName=orchestrator.yaml paths=. output:rbac:dir=../../../charts/jobset-controller/files/rbac

// +kubebuilder:rbac:groups=jobset.x-k8s.io,resources=jobsets,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=jobset.x-k8s.io,resources=jobsets/status,verbs=patch
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;delete
// +kubebuilder:rbac:groups=batch,resources=jobs/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get
// +kubebuilder:rbac:groups="",resources=secrets,verbs=create;update
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,namespace=system,verbs=get;create;update
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// FieldManager owns what the orchestrator writes: its annotations and its conditions.
const FieldManager = "holdfast-orchestrator"

const (
	stepsPerLook = 8 // of one reconcile; a healthy group needs at most three
	resyncEvery  = 20 * time.Second
	retryStore   = time.Second
)

// Reconciler leads the group of one JobSet.
type Reconciler struct {
	Client   client.Client
	Live     client.Reader // reads past the cache
	Store    rounds.Leader
	Tokens   Tokens
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	Users    Credentials // nil: agents have no users of their own

	states groupStates
	losses losses
	outage outage
}

// Register adds the reconciler to the manager. `wakeups` names the JobSets whose group has changed in the store.
func (r *Reconciler) Register(mgr ctrl.Manager, wakeups source.Source, workers int) error {
	registered.Store(r)
	return ctrl.NewControllerManagedBy(mgr).
		Named("orchestrator").
		For(&v1alpha2.JobSet{}, builder.WithPredicates(jobSetChanged())).
		Watches(&batchv1.Job{}, handler.EnqueueRequestForOwner(mgr.GetScheme(), mgr.GetRESTMapper(), &v1alpha2.JobSet{},
			handler.OnlyControllerOwner()), builder.WithPredicates(jobComesOrGoes())).
		Watches(&corev1.Pod{}, r.podHandler()).
		WatchesRawSource(wakeups).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(r)
}

// Reconcile brings the group and the JobSet's annotations together, one step at a time.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	js := &v1alpha2.JobSet{}
	if err := r.Client.Get(ctx, req.NamespacedName, js); err != nil {
		if apierrors.IsNotFound(err) {
			r.losses.take(req.NamespacedName)
			r.states.forget(req.NamespacedName, r.Clock.Now())
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if provenance.Copied(js.Annotations, js.UID) { // the manager takes them away
		return ctrl.Result{RequeueAfter: retryStore}, nil
	}
	again, err := r.lead(ctx, js)
	switch {
	case errors.Is(err, coordination.ErrStaleLeader):
		fencingRejections.Inc()
	case apierrors.IsConflict(err):
		return ctrl.Result{RequeueAfter: 20 * time.Millisecond}, nil // the cache is behind; the next look is at the newer object
	case apierrors.IsNotFound(err):
		return ctrl.Result{}, nil // the JobSet went meanwhile; the sweep drops its group
	case errors.As(err, new(*storeError)):
		if r.outage.began() {
			log.FromContext(ctx).Error(err, "store unusable, retrying; workers run on, time-outs and fail-overs wait")
		}
		return ctrl.Result{RequeueAfter: jitter(retryStore)}, r.nameUnreachable(ctx, js, err)
	}
	return ctrl.Result{RequeueAfter: again}, err
}

func (r *Reconciler) lead(ctx context.Context, js *v1alpha2.JobSet) (time.Duration, error) {
	js, err := r.keepUser(ctx, js)
	retry, err := leadOn(ctx, err)
	if err != nil {
		return 0, err
	}
	s, err := r.observe(ctx, js)
	if err != nil {
		return 0, err
	}
	again, err := r.follow(ctx, s)
	if err != nil { // a repair begins with the losses; an eviction that is told again changes nothing
		r.losses.keep(client.ObjectKeyFromObject(js), s.losses)
	}
	return sooner(again, retry), err
}

// follow takes the group to where it should be, step by step.
func (r *Reconciler) follow(ctx context.Context, s *scope) (time.Duration, error) {
	if err := errors.Join(r.evictLost(ctx, s), r.releaseAgain(ctx, s)); err != nil {
		return 0, err
	}
	for range stepsPerLook {
		in, err := r.input(ctx, s)
		if err != nil {
			return 0, err
		}
		step, err := leader.Next(in)
		if err != nil {
			return 0, err
		}
		if step.Kind == leader.Nothing {
			moved, err := r.form(ctx, s)
			if moved {
				continue
			}
			again, settled := r.settle(ctx, s)
			return again, errors.Join(err, settled)
		}
		log.FromContext(ctx).V(1).Info("step", "step", step.Kind)
		if err := r.apply(ctx, s, step); err != nil {
			return 0, err
		}
	}
	return 0, fmt.Errorf("the group of %s/%s does not settle after %d steps", s.js.Namespace, s.js.Name, stepsPerLook)
}

// settle does what follows from a group that is as it should be.
func (r *Reconciler) settle(ctx context.Context, s *scope) (time.Duration, error) {
	err := errors.Join(r.deleteStaleJobs(ctx, s), r.freeSlots(ctx, s), r.replace(ctx, s), r.releaseDead(ctx, s), r.repair(ctx, s), r.releaseFenced(ctx, s), r.account(ctx, s), r.nameLate(ctx, s), r.writeCondition(ctx, s))
	r.reportForced(s)
	r.states.observed(s.state, s.group, s.now)
	if s.wanted == nil {
		s.state.endRestart()
		s.state.account = accountMemory{}
		if s.group == nil {
			r.states.forget(client.ObjectKeyFromObject(s.js), s.now)
		}
		return 0, err
	}
	if s.group == nil {
		s.lookIn(time.Millisecond) // the store has lost the group during this reconcile
	}
	return s.nextLook(), err
}

// sooner of two times until the next look; 0: there is no need for one.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d) }
