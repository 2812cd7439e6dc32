package orchestrator

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/ladder"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/replace"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// holdersLook is how long slots are waited for before the store is asked who holds them, and how often then. Most restarts are over before.
const holdersLook = time.Second

// releasedPods are the pods that this process has released in a generation, by UID, with their slots.
type releasedPods struct {
	generation int64
	slots      map[string]string
}

func (p *releasedPods) note(generation int64, slot rounds.Slot) {
	if p.slots == nil || p.generation != generation {
		*p = releasedPods{generation, map[string]string{}}
	}
	p.slots[slot.Pod] = slot.Name
}

// pods are those of a generation.
func (p *releasedPods) pods(generation int64) []string {
	var pods []string
	for pod := range p.slots {
		if p.generation == generation {
			pods = append(pods, pod)
		}
	}
	return pods
}

// releaseAgain releases the pods whose fences the store has lost.
func (r *Reconciler) releaseAgain(ctx context.Context, s *scope) error {
	if s.wanted == nil || s.group == nil {
		return nil
	}
	for _, pod := range s.state.released.pods(s.group.Generation) {
		slot := rounds.Slot{Name: s.state.released.slots[pod], Pod: pod}
		if err := r.release(ctx, s, slot, ""); err != nil || s.group == nil {
			return err
		}
	}
	return nil
}

// freeSlots releases slots that a pod holds which is gone, so that the pod that is there now can join: its agent may have had no time to
// give the slot up, and nobody may have seen the pod go.
func (r *Reconciler) freeSlots(ctx context.Context, s *scope) error {
	waiting, err := r.refused(ctx, s)
	if err != nil || len(waiting) == 0 {
		return err
	}
	names := make([]string, len(waiting))
	for i, slot := range waiting {
		names[i] = slot.Name
	}
	holders, err := r.Store.Holders(ctx, string(s.js.UID), s.group.Generation, names)
	if err != nil {
		return storeFailed(err)
	}
	turn := r.turn()
	var errs []error
	for _, slot := range waiting {
		holder := holders[slot.Name]
		if holder == "" || holder == string(slot.Pod.UID) || s.group == nil || turn.over(s) {
			continue
		}
		errs = append(errs, r.freeSlot(ctx, s, slot, holder))
	}
	return errors.Join(errs...)
}

// refused are slots whose pods the store may refuse because another pod holds the slot: those that are waited for. While all run, it is any
// slot, because a pod may have gone and come while nobody led.
func (r *Reconciler) refused(ctx context.Context, s *scope) ([]ladder.Slot, error) {
	switch {
	case s.runs() && dueLater(&s.state.holdersChecked, resyncEvery, s.now):
		var names []string
		for u := range s.group.Waited() {
			names = append(names, s.group.Units[u].SlotNames()...)
		}
		return r.withOnePod(ctx, s, names)
	case s.waitsForSlots() && dueLater(&s.state.holdersChecked, holdersLook, s.now):
		return r.alone(ctx, s)
	}
	return nil, nil
}

// runs: all workers of this epoch are in sync.
func (s *scope) runs() bool {
	return s.wanted != nil && !s.wanted.Suspended && s.group != nil && s.group.Generation == int64(s.epoch.Epoch) && s.group.Phase == coordination.Running
}

// freeSlot looks past the cache whether the pod that holds a slot is gone.
func (r *Reconciler) freeSlot(ctx context.Context, s *scope, slot ladder.Slot, holder string) error {
	if slot.Job.Spec.Template.Labels[v1alpha2.JobKey] == "" {
		return nil // the pods of the slot could not be found
	}
	_, index, _ := inplace.JobOf(slot.Name)
	live, err := r.livePods(ctx, &place{slot: slot.Name, job: slot.Job, index: index})
	if err != nil {
		return err
	}
	there := slices.ContainsFunc(live, func(pod corev1.Pod) bool {
		return pod.UID == types.UID(holder) && !replace.Over(&pod) && !ladder.Lost(&pod)
	})
	if there {
		return nil
	}
	return r.release(ctx, s, rounds.Slot{Name: slot.Name, Pod: holder}, "")
}

// release takes a pod out of its slot, once.
func (r *Reconciler) release(ctx context.Context, s *scope, slot rounds.Slot, pod string) error {
	unit, found := s.group.UnitOf(slot.Name)
	if !found || s.group.IsFenced(slot.Pod) {
		return nil // the group does not count this pod, or counts it no more
	}
	token, err := r.Tokens.Token(ctx)
	if err != nil {
		return err
	}
	if err := r.Store.Release(ctx, string(s.js.UID), token, s.group.Level, unit, slot, coordination.KindPod); err != nil {
		return r.sawGroup(s, nil, err)
	}
	s.state.released.note(s.group.Generation, slot)
	evictions.Inc()
	logReleased(ctx, slot, pod)
	return r.readGroup(ctx, s)
}
