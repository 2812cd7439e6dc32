package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/policy"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/coordination/group"
	"github.com/holdfast-project/holdfast/shared/coordination/leader"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
	"github.com/holdfast-project/holdfast/shared/grace"
	"github.com/holdfast-project/holdfast/shared/restart"
)

// scope is what one reconcile has observed. Steps bring it up to date as they act.
type scope struct {
	js      *v1alpha2.JobSet
	state   *groupState
	inPlace policy.InPlace
	epoch   epoch.Record
	jobs    []batchv1.Job
	wanted  *leader.Wanted
	stored  *rounds.Stored // nil: the store holds no readable group
	group   *group.Summary // of it
	foreign error          // the store holds something unreadable
	clock   *grace.Deadline
	losses  []loss                 // pods that were lost since the last look
	pods    map[string]*corev1.Pod // the newest pod of each slot, once they were read
	missing []string               // whom the round waits for, once the store was asked; nil after each new sight of the group
	now     time.Time
	nodes   map[string]*corev1.Node // read in this look; nil: there is none of the name
	listed  *corev1.PodList         // all pods, once they were read
	checked map[types.UID]bool      // pods that end, and that were looked at for their slot's sake in this look
	forced  []forcedAway            // in this look
	forming string                  // who has not joined for the first time
	late    string                  // who is not back in a restart that takes long
	soon    time.Duration           // when to look again, whatever is heard; 0: no need

	refused   string // why a JobSet that asks for in-place restarts has no group
	undecided bool   // whether agents are added is for the JobSet's first Job to say; a group that is there stays as it is
}

func (r *Reconciler) observe(ctx context.Context, js *v1alpha2.JobSet) (*scope, error) {
	now := r.Clock.Now()
	s := &scope{js: js, now: now, state: r.states.of(client.ObjectKeyFromObject(js), js.UID, now)}
	var jobs batchv1.JobList
	if err := r.Client.List(ctx, &jobs, client.InNamespace(js.Namespace),
		client.MatchingLabels{v1alpha2.JobSetNameKey: js.Name}); err != nil {
		return nil, fmt.Errorf("listing the Jobs: %w", err)
	}
	for _, job := range jobs.Items {
		if owner := ownerOf(&job); owner == js.UID {
			s.jobs = append(s.jobs, job)
		}
	}
	if err := s.readJobSet(); err != nil {
		log.FromContext(ctx).Error(err, "the epoch is unreadable; taken from the store")
	}
	if !s.concerned() {
		return s, nil
	}
	if err := r.readGroup(ctx, s); err != nil {
		return nil, err
	}
	s.wanted, s.refused = s.want()
	return s, nil
}

// readJobSet derives what the JobSet wants. An unreadable epoch counts as the first; the store then has a later one.
func (s *scope) readJobSet() error {
	var err error
	s.inPlace = policy.ReadInPlace(s.js.Annotations)
	if s.epoch, err = epoch.Of(s.js.Annotations); err != nil {
		s.epoch = epoch.First()
	}
	// Restarts that the controller counted before in-place restarts were turned on have used up the budget too.
	s.epoch.Base = max(s.epoch.Base, s.js.Status.RestartsCountTowardsMax)
	s.wanted, s.refused = s.want()
	return err
}

// want is the group that the JobSet asks for; none, with a reason, if it asks for what cannot be done.
func (s *scope) want() (*leader.Wanted, string) {
	over := s.js.Status.TerminalState != "" || !s.js.DeletionTimestamp.IsZero()
	elsewhere := ptr.Deref(s.js.Spec.ManagedBy, v1alpha2.JobSetControllerName) != v1alpha2.JobSetControllerName
	if !s.inPlace.Enabled || over || elsewhere {
		return nil, ""
	}
	jobs := s.currentJobs()
	stages, refused := s.stages(jobs)
	if len(stages) == 0 {
		return nil, refused
	}
	return &leader.Wanted{
		Stages:    stages,
		Suspended: ptr.Deref(s.js.Spec.Suspend, false),
		Barrier:   !slices.ContainsFunc(jobs, func(job *batchv1.Job) bool { return inplace.HasSidecar(&job.Spec.Template.Spec) }),
		Finished:  finishedSlots(s.js.Name, jobs, stages),
		MaxPause:  s.inPlace.MaxRestartDelay,
	}, ""
}

// maxSlots bounds what one group takes of the store.
const maxSlots = 1 << 20

func slotsOf(stages []coordination.Stage) int64 {
	var n int64
	for _, stage := range stages {
		n += stage.Slots()
	}
	return n
}

// concerned tells whether there is anything to ask the store about this JobSet.
func (s *scope) concerned() bool {
	_, counted := s.js.Annotations[v1alpha2.InPlaceRestartsKey]
	condition := meta.FindStatusCondition(s.js.Status.Conditions, ConditionInSync)
	return s.wanted != nil || s.undecided || counted || condition != nil
}

func (r *Reconciler) readGroup(ctx context.Context, s *scope) error {
	stored, err := r.Store.Read(ctx, string(s.js.UID))
	return r.sawGroup(s, stored, err)
}

// sawGroup takes over what a store call returned, and keeps the clock of the round.
func (r *Reconciler) sawGroup(s *scope, stored *rounds.Stored, err error) error {
	s.stored, s.group, s.foreign, s.clock, s.missing = stored, nil, nil, nil, nil
	switch {
	case err == nil && stored != nil:
		g := group.Summarize(stored)
		s.group = &g
		s.clock = s.state.clock(g, s.inPlace.Timeout, r.Clock.Now()) // a look may be long
	case err == nil, errors.Is(err, coordination.ErrNoGroup):
	case errors.Is(err, coordination.ErrForeignValue):
		s.foreign = err
	case errors.Is(err, coordination.ErrStaleLeader), errors.Is(err, coordination.ErrArgument):
		return err
	default:
		return storeFailed(err)
	}
	r.outage.ended()
	return nil
}

// input is what the rules of package leader decide on. A JobSet that has no group and wants none needs no leader.
func (r *Reconciler) input(ctx context.Context, s *scope) (leader.Input, error) {
	_, counted := s.js.Annotations[v1alpha2.InPlaceRestartsKey]
	in := leader.Input{
		Wanted: s.wanted, Stored: s.stored, Foreign: s.foreign != nil, Epoch: s.epoch,
		Charged: s.inPlace.Restarts, Counted: counted, Budget: s.budget(),
		Overdue: s.clock != nil && s.clock.Passed(s.now), Mark: s.marked(), Incarnation: group.Incarnation(),
	}
	if s.wanted == nil {
		return in, nil
	}
	s.wanted.Entered, s.wanted.Fenced = s.entered(), s.state.released.pods(int64(s.epoch.Epoch))
	var err error
	in.Token, err = r.Tokens.Token(ctx)
	return in, err
}

// entered is how many steps have run in this generation, for a store that has lost the group: those whose Jobs exist, unless the
// condition says that the first one has still to form.
func (s *scope) entered() int64 {
	condition := meta.FindStatusCondition(s.js.Status.Conditions, ConditionInSync)
	if condition == nil || condition.Reason == reasons[coordination.Forming] || condition.Reason == reasonUnreachable {
		return 0
	}
	var steps int64
	for _, stage := range s.wanted.Stages {
		if slices.ContainsFunc(s.currentJobs(), func(job *batchv1.Job) bool {
			return s.js.Name+"-"+job.Labels[v1alpha2.ReplicatedJobNameKey] == stage.Prefix
		}) {
			steps = max(steps, stage.Step+1)
		}
	}
	return steps
}

func (s *scope) budget() restart.Budget { return policy.Budget(&s.js.Spec) }

// nextLook is when this group has to be looked at again though nothing was heard of it.
func (s *scope) nextLook() time.Duration {
	next := jitter(resyncEvery)
	if s.soon > 0 {
		next = min(next, s.soon)
	}
	if s.clock != nil {
		next = min(next, s.clock.Remaining(s.now)+time.Millisecond, s.lookAgain())
	}
	return next
}

// storeError marks that the store could not be asked.
type storeError struct{ err error }

func storeFailed(err error) error {
	storeErrors.Inc()
	return &storeError{err}
}

func (e *storeError) Error() string { return "asking the store: " + e.err.Error() }
func (e *storeError) Unwrap() error { return e.err }
