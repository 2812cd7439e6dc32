package orchestrator

import (
	"context"
	"errors"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/ladder"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/replace"
	"github.com/holdfast-project/holdfast/shared/coordination"
)

// fenceLook is how long a restart waits for its slots before their pods are held against the fence, and how often then: it costs
// the store a look at every slot.
const fenceLook = 5 * time.Second

// fenced is why a pod is deleted that runs and will never join.
const fenced = "has lost its slot for good"

// releaseFenced deletes pods that hold their group up because a leader has released them from their slots, so that the store listens to them
// no more, and nobody else is there for the slots.
func (r *Reconciler) releaseFenced(ctx context.Context, s *scope) error {
	if !s.waitsForSlots() {
		s.state.fencesChecked = time.Time{}
		return nil
	}
	every := resyncEvery // pods that form a group may be hours away
	if s.group.Phase == coordination.Restarting {
		every = fenceLook
		s.lookIn(fenceLook)
	}
	if !dueLater(&s.state.fencesChecked, every, s.now) {
		return nil
	}
	alone, err := r.alone(ctx, s)
	if err != nil || len(alone) == 0 {
		return err
	}
	return r.deleteFenced(ctx, s, alone)
}

// waitsForSlots: pods of this epoch are to join, and not all have.
func (s *scope) waitsForSlots() bool {
	if s.wanted == nil || s.wanted.Suspended || s.group == nil || s.group.Generation != int64(s.epoch.Epoch) {
		return false
	}
	waits := s.group.Phase == coordination.Forming || s.group.Phase == coordination.Restarting
	return waits && s.group.Joined < s.group.Size
}

// alone are the slots that have not joined and have one living pod, of the Job that there is now.
func (r *Reconciler) alone(ctx context.Context, s *scope) ([]ladder.Slot, error) {
	missing, err := r.missing(ctx, s)
	if err != nil || len(missing) == 0 {
		return nil, err
	}
	slots, err := r.slots(ctx, s, missing)
	if err != nil {
		return nil, err
	}
	var alone []ladder.Slot
	for _, slot := range slots {
		if slot.Pod != nil && slot.Job != nil && slot.Job.DeletionTimestamp.IsZero() && isOf(slot.Pod, slot.Job) && lives(slot.Pod) {
			alone = append(alone, slot)
		}
	}
	return alone, nil
}

func lives(pod *corev1.Pod) bool { return replace.StateOf([]*corev1.Pod{pod}) == replace.Held }

func (r *Reconciler) deleteFenced(ctx context.Context, s *scope, alone []ladder.Slot) error {
	var released []repaired
	var errs []error
	turn := r.turn()
	for _, slot := range alone {
		if !s.waitsForSlots() {
			break
		}
		if !s.group.IsFenced(string(slot.Pod.UID)) || len(released) == repairsPerLook || turn.over(s) {
			continue
		}
		ok, err := r.deleteFencedPod(ctx, s, slot)
		errs = append(errs, err)
		if ok {
			released = append(released, repaired{slot, fenced})
		}
	}
	if len(released) > 0 {
		escalations.WithLabelValues(string(ladder.Pod)).Add(float64(len(released)))
		r.event(s, corev1.EventTypeWarning, eventPod, "%s %s; deleting the pod (%s), so that the slot gets a new one",
			names(released), released[0].why, released[0].Pod.Name)
	}
	return errors.Join(errs...)
}

// deleteFencedPod looks once more, past the cache, and lets the store refuse a leader that has been replaced.
func (r *Reconciler) deleteFencedPod(ctx context.Context, s *scope, slot ladder.Slot) (bool, error) {
	live := &corev1.Pod{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(slot.Pod), live); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	if live.UID != slot.Pod.UID || !isOf(live, slot.Job) || !lives(live) {
		return false, nil
	}
	job := &batchv1.Job{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(slot.Job), job); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	if job.UID != slot.Job.UID || !job.DeletionTimestamp.IsZero() {
		return false, nil // its pods go with it
	}
	if err := r.confirmLead(ctx, s); err != nil || !s.waitsForSlots() {
		return false, err
	}
	return r.delete(ctx, live, client.Preconditions{UID: &live.UID})
}
