package orchestrator

import (
	"context"
	"errors"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/forming"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/ladder"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/recovering"
)

// namedAfter is how long workers may take to join before they are named. Most have joined by then, unless an image is pulled.
const namedAfter = 30 * time.Second

// formingLook is how often a step that waits is read again while its workers are named.
const formingLook = 10 * time.Second

// form sees to the steps whose workers have not all joined for the first time: it charges failures, names who is missing, and ends
// what takes too long. It returns true if it has charged something: what follows from that comes first.
func (r *Reconciler) form(ctx context.Context, s *scope) (moved bool, err error) {
	s.forming = ""
	var steps []formingStep
	if s.forms() {
		if steps, err = r.formingSteps(ctx, s); err != nil {
			return false, err
		}
	}
	if len(steps) == 0 {
		s.state.endFormation()
		return false, nil
	}
	s.state.forms.Store(true)
	waits := map[forming.Kind]int{}
	for i := range steps {
		if !s.forms() {
			return false, nil
		}
		if moved, err := r.formStep(ctx, s, &steps[i]); moved || err != nil {
			return moved, err
		}
		if steps[i].named {
			for kind, n := range steps[i].Waits() {
				waits[kind] += n
			}
		}
	}
	s.state.formation.count(waits)
	return false, nil
}

// forms reports whether a step of the group may be waiting for its workers.
func (s *scope) forms() bool {
	if s.wanted == nil || s.wanted.Suspended || s.group == nil || s.group.Generation != int64(s.epoch.Epoch) {
		return false
	}
	switch s.group.Phase {
	case coordination.Forming, coordination.Running, coordination.Restarting:
		return true
	}
	return false
}

// formStep returns true if it has charged something.
func (r *Reconciler) formStep(ctx context.Context, s *scope, step *formingStep) (moved bool, err error) {
	if charged, err := r.chargeExits(ctx, s, step); charged || err != nil {
		return charged, err
	}
	r.nameMissing(s, step)
	switch step.Answer() {
	case forming.Replace:
		return false, r.replaceMissing(ctx, s, step)
	case forming.Recreate:
		return r.recreateForming(ctx, s, step)
	}
	if deadline, runs := step.Clock(); runs {
		s.lookIn(deadline.Remaining(s.now) + time.Millisecond)
	}
	return false, nil
}

// chargeExits charges what has failed before the step was complete. A death that the store knows of is charged by the round that answers it.
func (r *Reconciler) chargeExits(ctx context.Context, s *scope, step *formingStep) (bool, error) {
	worst, found := forming.Worst(step.Slots, step.Opened)
	if !found {
		return false, nil
	}
	failures := worst.Times
	if s.group.Died {
		failures--
	}
	before := s.account()
	after, more := before.Fail(failures)
	if !more {
		return false, nil
	}
	if err := r.writeAccount(ctx, s, after, nil); err != nil {
		return false, err
	}
	earlyFailures.Add(float64(after.Epoch.Base - before.Epoch.Base))
	r.reportEarly(s, worst)
	return true, nil
}

func (s *scope) account() forming.Account {
	return forming.Account{Epoch: s.epoch, Round: s.group.Round, Charged: s.inPlace.Restarts, Budget: s.budget()}
}

// writeAccount writes an account in one compare-and-set, so that it counts once whoever leads.
func (r *Reconciler) writeAccount(ctx context.Context, s *scope, a forming.Account, values map[string]string) error {
	if values == nil {
		values = map[string]string{}
	}
	values[epoch.Annotation] = a.Epoch.Format()
	values[v1alpha2.InPlaceRestartsKey] = strconv.Itoa(int(a.Charged))
	return r.annotate(ctx, s, values)
}

func (r *Reconciler) reportEarly(s *scope, e forming.Exit) {
	if budget := s.budget(); budget.Exceeded(s.inPlace.Restarts) {
		r.event(s, corev1.EventTypeWarning, eventUsedUp, "%s, and all %d restarts are used up: the JobSet fails", e.Text(), budget)
	} else {
		r.event(s, corev1.EventTypeWarning, eventEarly, "%s; it is started again (restart %d of %d)", e.Text(), s.inPlace.Restarts, budget)
	}
}

// nameMissing names the workers of a step for the condition, and once for an event.
func (r *Reconciler) nameMissing(s *scope, step *formingStep) {
	if !step.named {
		s.lookIn(step.since.Add(step.nameAfter()).Sub(s.now))
		return
	}
	_, runs := step.Clock()
	if runs {
		s.lookIn(formingLook)
	}
	if s.forming != "" || s.group.Phase == coordination.Restarting {
		return
	}
	text := step.Text()
	s.forming = text
	expected := !runs && s.group.Phase != coordination.Forming // a later step waits while the others run
	if expected || !s.state.formation.in(s.group.Generation).name(step.number) {
		return
	}
	kind := corev1.EventTypeWarning
	if !runs {
		kind = corev1.EventTypeNormal
	}
	r.event(s, kind, eventWaiting, "%s", text)
}

// replaceMissing deletes the pods of the missing slots, once; their Job creates new ones.
func (r *Reconciler) replaceMissing(ctx context.Context, s *scope, step *formingStep) error {
	s.state.formation.in(s.group.Generation).answered[step.number] = s.now
	var done []repaired
	var errs []error
	for _, slot := range step.Missing {
		if len(done) == repairsPerLook || !s.forms() {
			break
		}
		deleted, err := r.deleteMissing(ctx, s, slot)
		errs = append(errs, err)
		if deleted {
			done = append(done, repaired{ladder.Slot{Name: slot.Name, Job: slot.Job, Pod: slot.Pod}, ""})
		}
	}
	if len(done) > 0 {
		escalations.WithLabelValues(string(ladder.Pod)).Add(float64(len(done)))
		r.event(s, corev1.EventTypeWarning, eventPod, "%s did not join within %s (%s); deleting the pod, so that its Job creates a new one",
			names(done), step.Period, forming.WaitOf(step.Missing[0], s.now).Text)
	}
	return errors.Join(errs...)
}

// deleteMissing deletes the pod of a slot that has not joined, after a live read.
func (r *Reconciler) deleteMissing(ctx context.Context, s *scope, slot forming.Slot) (bool, error) {
	live := &corev1.Pod{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(slot.Pod), live); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	if live.UID != slot.Pod.UID || !isOf(live, slot.Job) || !live.DeletionTimestamp.IsZero() {
		return false, nil
	}
	if err := r.evictToDelete(ctx, s, live); err != nil || !s.forms() {
		return false, err
	}
	return r.delete(ctx, live, client.Preconditions{UID: &live.UID})
}

// recreateForming opens the next epoch, in which all Jobs are created anew, or charges the failure that ends the JobSet.
func (r *Reconciler) recreateForming(ctx context.Context, s *scope, step *formingStep) (bool, error) {
	next, recreates, changed := s.account().FailOver()
	if !changed {
		return false, nil
	}
	text := step.Text()
	var values map[string]string
	if recreates {
		values = s.place(recovering.State{Rung: recovering.RungRecreate, Reason: text, Deadline: s.now.Add(recreationTime)})
	}
	if err := r.writeAccount(ctx, s, next, values); err != nil {
		return false, err
	}
	formingTimeouts.Inc()
	if recreates {
		escalations.WithLabelValues("group").Inc()
		r.event(s, corev1.EventTypeWarning, eventFailOver, "%s; deleting all Jobs for a full recreation (epoch %d, restart %d of %d)",
			text, s.epoch.Epoch, s.inPlace.Restarts, s.budget())
	} else {
		r.event(s, corev1.EventTypeWarning, eventUsedUp, "%s, and all %d restarts are used up: the JobSet fails", text, s.budget())
	}
	return true, nil
}

// nameUnreachable says of a JobSet whose group has never formed that the store does not answer. Workers that run on are told nothing.
func (r *Reconciler) nameUnreachable(ctx context.Context, js *v1alpha2.JobSet, cause error) error {
	old := meta.FindStatusCondition(js.Status.Conditions, ConditionInSync)
	if !hasUser(js) || ptr.Deref(js.Spec.Suspend, false) {
		return nil
	}
	if old != nil && old.Reason != reasons[coordination.Forming] && old.Reason != reasonUnreachable {
		return nil
	}
	c := metav1.Condition{
		Type: ConditionInSync, Status: metav1.ConditionFalse, Reason: reasonUnreachable, ObservedGeneration: js.Generation,
		Message:            "workers cannot join: " + short(cause.Error()),
		LastTransitionTime: metav1.NewTime(r.Clock.Now()),
	}
	if old != nil && sameCondition(*old, c) {
		return nil
	}
	if old != nil && old.Status == c.Status {
		c.LastTransitionTime = old.LastTransitionTime
	}
	return r.applyConditions(ctx, js, []metav1.Condition{c})
}
