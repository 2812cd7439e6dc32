package orchestrator

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/inplace"
	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/ladder"
	"github.com/holdfast-project/holdfast/shared/coordination/epoch"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// evictLost tells the store of pods that are lost. An agent that could speak has reported the death itself; then nothing
// changes. Pods that go because the JobSet is suspended, finished or recreated are no losses.
func (r *Reconciler) evictLost(ctx context.Context, s *scope) error {
	taken := r.losses.take(client.ObjectKeyFromObject(s.js))
	s.losses = slices.DeleteFunc(taken, func(l loss) bool { return jobSetOf(l.pod) != s.js.UID })
	released := false
	for _, lost := range s.losses {
		if s.wanted == nil || s.wanted.Suspended || s.group == nil {
			return nil
		}
		if !lost.evict || s.expected(lost.pod) {
			continue
		}
		one, err := r.releaseUnread(ctx, s, slotOfPod(lost.pod), lost.pod.Name)
		if err != nil {
			return err
		}
		released = released || one
	}
	return r.readIf(ctx, s, released)
}

// expected tells whether a pod had to go: with the Jobs of an earlier epoch, or after its worker had finished.
func (s *scope) expected(pod *corev1.Pod) bool {
	finished := slices.Contains(s.wanted.Finished, inplace.SlotOf(pod)) && !ladder.Lost(pod)
	return finished || s.epoch.Stale(epoch.OfJob(pod.Annotations))
}

// evict takes a pod out of its slot.
func (r *Reconciler) evict(ctx context.Context, s *scope, pod *corev1.Pod) error {
	return r.release(ctx, s, slotOfPod(pod), pod.Name)
}

// evictToDelete takes a pod out of its slot before it is deleted. It refuses a leader that has been replaced, also for a pod that was released
// before, about which the store is not asked again.
func (r *Reconciler) evictToDelete(ctx context.Context, s *scope, pod *corev1.Pod) error {
	released, err := r.releaseUnread(ctx, s, slotOfPod(pod), pod.Name)
	switch {
	case err != nil || s.group == nil:
		return err
	case released:
		return r.readGroup(ctx, s)
	}
	return r.confirmLead(ctx, s)
}

func slotOfPod(pod *corev1.Pod) rounds.Slot {
	return rounds.Slot{Name: inplace.SlotOf(pod), Pod: string(pod.UID)}
}

func logReleased(ctx context.Context, slot rounds.Slot, pod string) {
	log.FromContext(ctx).Info("released a pod from its slot", "slot", slot.Name, "pod", pod, "uid", slot.Pod)
}
