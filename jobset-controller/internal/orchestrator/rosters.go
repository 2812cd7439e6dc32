package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/members"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/owners"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/grace"
	"github.com/holdfast-project/holdfast/shared/roster"
)

// +kubebuilder:rbac:groups=elastic.pytorch.org,resources=elasticjobs,verbs=get;list;watch;patch

// Rosters leads the groups of owners that say by a roster who is in them: ElasticJobs. It reads no pod of theirs and deletes none: who
// does not come back in place is in its report, and the owner's own program replaces the pod.
type Rosters struct {
	Client client.Client
	Store  rounds.Leader
	Tokens Tokens
	Clock  clock.PassiveClock
	Users  Credentials // nil: agents have no users of their own

	states groupStates
	outage outage
	names  nameplates
}

// Register adds the reconciler to the manager, which may run already.
func (r *Rosters) Register(mgr ctrl.Manager, workers int) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("rosters").
		For(owners.MakeElasticJob(), builder.OnlyMetadata, builder.WithPredicates(predicate.AnnotationChangedPredicate{})).
		WatchesRawSource(r.names.source()).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(r)
}

// Reconcile brings one group and its owner's report together, one step at a time.
func (r *Rosters) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	owner := owners.MakeElasticJob()
	if err := r.Client.Get(ctx, req.NamespacedName, owner); err != nil {
		if apierrors.IsNotFound(err) {
			r.names.forget(r.states.forget(req.NamespacedName, r.Clock.Now()))
		}
		return ctrl.Result{}, client.IgnoreNotFound(err) // the sweep drops its group
	}
	owner.SetGroupVersionKind(owners.ElasticJob)
	again, err := r.lead(ctx, owner)
	switch {
	case errors.Is(err, coordination.ErrStaleLeader):
		fencingRejections.Inc()
	case apierrors.IsConflict(err):
		return ctrl.Result{RequeueAfter: 20 * time.Millisecond}, nil // the cache is behind; the next look is at the newer object
	case apierrors.IsNotFound(err):
		return ctrl.Result{}, nil
	case errors.As(err, new(*storeError)):
		if r.outage.began() {
			log.FromContext(ctx).Error(err, "store unusable, retrying; workers run on, changes of groups wait")
		}
		return ctrl.Result{RequeueAfter: jitter(retryStore)}, nil
	}
	return ctrl.Result{RequeueAfter: again}, err
}

// Wake has the group looked at; without a name all groups.
func (r *Rosters) Wake(ctx context.Context, group string) { r.names.wake(ctx, types.UID(group)) }

// roll is what one look at a group with a roster knows.
type roll struct {
	owner  client.Object
	state  *groupState
	roster *roster.Roster
	report *roster.Report // that was written last
	group  *group.Summary
	bad    error // the store holds something unreadable
	clock  *grace.Deadline
	now    time.Time
}

func (r *Rosters) lead(ctx context.Context, owner client.Object) (time.Duration, error) {
	if !wantsUser(owner) || r.Users == nil {
		return r.look(ctx, owner)
	}
	owner, err := keepUserOf(ctx, r.Users, r.Client, owner)
	retry, err := leadOn(ctx, err)
	if err != nil {
		return 0, err
	}
	again, err := r.look(ctx, owner)
	return sooner(again, retry), err
}

// look brings the group and its roster together.
func (r *Rosters) look(ctx context.Context, owner client.Object) (time.Duration, error) {
	s := &roll{owner: owner, now: r.Clock.Now(), report: roster.ReportOf(owner.GetAnnotations())}
	var err error
	if s.roster, err = roster.Of(owner.GetAnnotations()); err != nil {
		log.FromContext(ctx).Error(err, "the roster is unreadable; the group stays as it is")
		return 0, nil
	}
	if !owner.GetDeletionTimestamp().IsZero() {
		s.roster = nil
	}
	if s.roster == nil && s.report == nil {
		return 0, nil
	}
	s.state = r.states.of(client.ObjectKeyFromObject(owner), owner.GetUID(), s.now)
	if err := r.see(s)(group.Read(ctx, r.Store, string(owner.GetUID()))); err != nil {
		return 0, err
	}
	return r.follow(ctx, s)
}

// wantsUser: pods wait for the Secret before any of them can be on a roster, so asking for restarts in place is enough.
func wantsUser(owner client.Object) bool {
	return policy.ReadInPlace(owner.GetAnnotations()).Enabled && owner.GetDeletionTimestamp().IsZero()
}

func (r *Rosters) follow(ctx context.Context, s *roll) (time.Duration, error) {
	for range stepsPerLook {
		in, err := r.input(ctx, s)
		if err != nil {
			return 0, err
		}
		step := members.Next(in)
		if step.Kind == members.Nothing {
			return r.settle(ctx, s)
		}
		log.FromContext(ctx).V(1).Info("step", "step", step.Kind, "member", step.Member)
		if err := r.apply(ctx, s, step); err != nil {
			return 0, err
		}
	}
	return 0, fmt.Errorf("the group of %s/%s does not settle after %d steps", s.owner.GetNamespace(), s.owner.GetName(), stepsPerLook)
}

func (r *Rosters) input(ctx context.Context, s *roll) (members.Input, error) {
	in := members.Input{Roster: s.roster, Group: s.group, Foreign: s.bad != nil}
	if s.roster != nil && s.report != nil && s.report.Epoch == s.roster.Epoch {
		in.Known, in.Round = true, s.report.Round
	}
	if s.roster == nil || s.group == nil {
		return in, nil
	}
	for _, gone := range members.Gone(s.roster, s.group) {
		slot := roster.Slot(gone.Prefix)
		unit, _ := s.group.UnitOf(slot)
		finished, err := r.Store.HaveFinished(ctx, string(s.owner.GetUID()), s.group.Level, unit, []string{slot})
		if err != nil {
			return in, storeFailed(err)
		}
		if len(finished) > 0 {
			in.Finished = append(in.Finished, gone.Prefix)
		}
	}
	return in, nil
}

// apply does one step.
func (r *Rosters) apply(ctx context.Context, s *roll, step members.Step) error {
	token, err := r.Tokens.Token(ctx)
	if err != nil {
		return err
	}
	uid := string(s.owner.GetUID())
	switch step.Kind {
	case members.Evict:
		_, pod, _ := roster.ParseMember(step.Member)
		evictions.Inc()
		return r.see(s)(s.group.Release(ctx, r.Store, uid, token, rounds.Slot{Name: roster.Slot(step.Member), Pod: pod}, coordination.KindPod))
	case members.Open:
		if s.bad != nil {
			if err := group.Drop(ctx, r.Store, uid, token); err != nil {
				return r.see(s)(group.Summary{}, err)
			}
		}
		step.Open.Token = token
		return r.see(s)(group.Open(ctx, r.Store, uid, step.Open))
	case members.Drop:
		if err := group.Drop(ctx, r.Store, uid, token); err != nil {
			return r.see(s)(group.Summary{}, err)
		}
		return r.see(s)(group.Summary{}, coordination.ErrNoGroup)
	}
	return fmt.Errorf("unknown step %q", step.Kind)
}

// see takes over what a store call returned, and keeps the clock of the round.
func (r *Rosters) see(s *roll) func(group.Summary, error) error {
	return func(sum group.Summary, err error) error {
		s.group, s.bad, s.clock = nil, nil, nil
		switch {
		case err == nil:
			s.group = &sum
			if s.roster != nil {
				s.clock = s.state.clock(sum, s.roster.Timeout, s.now)
			}
		case errors.Is(err, coordination.ErrNoGroup):
		case errors.Is(err, coordination.ErrForeignValue):
			s.bad = err
		case errors.Is(err, coordination.ErrStaleLeader), errors.Is(err, coordination.ErrArgument):
			return err
		default:
			return storeFailed(err)
		}
		r.outage.ended()
		return nil
	}
}

// settle reports on a group that is as it should be.
func (r *Rosters) settle(ctx context.Context, s *roll) (time.Duration, error) {
	key := client.ObjectKeyFromObject(s.owner)
	if s.roster == nil {
		r.names.forget(r.states.forget(key, s.now))
		return 0, r.say(ctx, s, "")
	}
	if s.group == nil {
		return jitter(resyncEvery), nil
	}
	r.states.observedPhase(s.state, s.group)
	r.names.note(s.owner.GetUID(), key)
	report, err := r.report(ctx, s)
	if err != nil {
		return 0, err
	}
	next := jitter(resyncEvery)
	if s.clock != nil && !s.clock.Passed(s.now) {
		next = min(next, s.clock.Remaining(s.now)+time.Millisecond)
	}
	return next, r.say(ctx, s, report.Format())
}

// say writes the report, if it says anything new; an empty one is taken away.
func (r *Rosters) say(ctx context.Context, s *roll, report string) error {
	if s.owner.GetAnnotations()[roster.ReportAnnotation] == report {
		return nil
	}
	owner, err := annotated(ctx, r.Client, s.owner, map[string]string{roster.ReportAnnotation: report})
	s.owner = owner
	return err
}
