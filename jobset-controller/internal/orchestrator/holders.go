package orchestrator

import (
	"context"
	"errors"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/ladder"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/replace"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

const (
	// holdersLook is how often the store is asked at most who holds the slots of new pods.
	holdersLook = time.Second
	// createdWithin is more than a pod's creation may be ahead of the time at which its slot is asked for: clocks differ, and caches lag.
	createdWithin = time.Minute
)

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
	fenced, released := sets.New(s.group.Fenced...), false
	for _, pod := range s.state.released.pods(s.group.Generation) {
		if fenced.Has(pod) {
			continue
		}
		one, err := r.releaseUnread(ctx, s, rounds.Slot{Name: s.state.released.slots[pod], Pod: pod}, "")
		if err != nil || s.group == nil {
			return err
		}
		released = released || one
	}
	return r.readIf(ctx, s, released)
}

// freeSlots releases slots that a pod holds which is gone, so that the pod that is there now can join: its agent may have had no time to
// give the slot up, and nobody may have seen the pod go. The store is asked about pods that were created since it was last asked.
func (r *Reconciler) freeSlots(ctx context.Context, s *scope) error {
	if !s.takesJoins() {
		return nil
	}
	newcomers, err := r.newcomers(ctx, s)
	if err != nil || len(newcomers) == 0 {
		return err
	}
	s.lookIn(holdersLook)
	if !due(&s.state.holdersChecked, holdersLook, s.now) {
		return nil
	}
	names := make([]string, len(newcomers))
	for i, slot := range newcomers {
		names[i] = slot.Name
	}
	holders, err := r.Store.Holders(ctx, string(s.js.UID), s.group.Generation, names)
	if err != nil {
		return storeFailed(err)
	}
	shut := slices.DeleteFunc(newcomers, func(slot ladder.Slot) bool {
		return holders[slot.Name] == "" || holders[slot.Name] == string(slot.Pod.UID)
	})
	if len(shut) == 0 {
		s.state.holdersKnown = s.now.Add(-createdWithin)
		return nil
	}
	present, err := r.presentPods(ctx, s)
	if err != nil {
		return err
	}
	turn := r.turn()
	var errs []error
	for _, slot := range shut {
		if present.Has(holders[slot.Name]) {
			continue
		}
		if !s.takesJoins() || turn.over(s) {
			break
		}
		errs = append(errs, r.freeSlot(ctx, s, slot, holders[slot.Name]))
	}
	return errors.Join(errs...)
}

// presentPods are the UIDs of the pods that may still run, as far as the cache knows.
func (r *Reconciler) presentPods(ctx context.Context, s *scope) (sets.Set[string], error) {
	pods, err := r.listPods(ctx, s)
	if err != nil {
		return nil, err
	}
	present := sets.New[string]()
	for i := range pods {
		if mayRun(&pods[i]) {
			present.Insert(string(pods[i].UID))
		}
	}
	return present, nil
}

// mayRun reports whether something of a pod may still run.
func mayRun(pod *corev1.Pod) bool { return !replace.Over(pod) && !ladder.Lost(pod) }

// takesJoins reports whether pods of this generation may join.
func (s *scope) takesJoins() bool {
	if s.wanted == nil || s.wanted.Suspended || s.group == nil || s.group.Generation != int64(s.epoch.Epoch) {
		return false
	}
	return s.group.Level.Phase == rounds.Active
}

// newcomers are the slots whose living pods may not have joined yet.
func (r *Reconciler) newcomers(ctx context.Context, s *scope) ([]ladder.Slot, error) {
	if err := r.readPods(ctx, s); err != nil {
		return nil, err
	}
	jobs := map[string]*batchv1.Job{}
	for _, job := range s.currentJobs() {
		jobs[job.Name] = job
	}
	var list []ladder.Slot
	for name, pod := range s.pods {
		if !pod.CreationTimestamp.After(s.state.holdersKnown) {
			continue
		}
		if job, _, _ := inplace.JobOf(name); isOf(pod, jobs[job]) && lives(pod) {
			list = append(list, ladder.Slot{Name: name, Job: jobs[job], Pod: pod})
		}
	}
	return list, nil
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
		return pod.UID == types.UID(holder) && mayRun(&pod)
	})
	if there {
		return nil
	}
	return r.release(ctx, s, rounds.Slot{Name: slot.Name, Pod: holder}, "")
}

// release takes a pod out of its slot, once, and reads the group after it.
func (r *Reconciler) release(ctx context.Context, s *scope, slot rounds.Slot, pod string) error {
	released, err := r.releaseUnread(ctx, s, slot, pod)
	if err != nil {
		return err
	}
	return r.readIf(ctx, s, released)
}

// readIf reads the group if pods were released since it was read.
func (r *Reconciler) readIf(ctx context.Context, s *scope, released bool) error {
	if !released {
		return nil
	}
	return r.readGroup(ctx, s)
}

// releaseUnread takes a pod out of its slot, once. It reports whether the group has to be read again.
func (r *Reconciler) releaseUnread(ctx context.Context, s *scope, slot rounds.Slot, pod string) (bool, error) {
	unit, found := s.group.UnitOf(slot.Name)
	if !found || s.group.Units[unit].Left || s.group.IsFenced(slot.Pod) {
		return false, nil // the group does not count this pod, or counts it no more
	}
	token, err := r.Tokens.Token(ctx)
	if err != nil {
		return false, err
	}
	if err := r.Store.Release(ctx, string(s.js.UID), token, s.group.Level, unit, slot, coordination.KindPod); err != nil {
		return false, r.sawGroup(s, nil, err)
	}
	s.state.released.note(s.group.Generation, slot)
	evictions.Inc()
	logReleased(ctx, slot, pod)
	return true, nil
}
