package failures

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/holdfast-project/holdfast/rescheduler/internal/owners"
	"github.com/holdfast-project/holdfast/rescheduler/internal/signals"
)

// Watch starts recording pod failures. It runs on every replica, because every replica admits pods.
func (x *Index) Watch(ctx context.Context, c cache.Cache, table signals.Table, clock clock.PassiveClock) error {
	informer, err := c.GetInformer(ctx, &corev1.Pod{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watching pods: %w", err)
	}
	note := func(o any) {
		if gone, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
			o = gone.Obj
		}
		if pod, ok := o.(*corev1.Pod); ok {
			x.notePod(pod, table, clock)
		}
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    note,
		UpdateFunc: func(_, o any) { note(o) },
		DeleteFunc: note,
	})
	if err != nil {
		return fmt.Errorf("watching pods: %w", err)
	}
	return nil
}

// notePod notes a recent failure. Older ones are in the memory of the owner, or have expired.
func (x *Index) notePod(pod *corev1.Pod, table signals.Table, clock clock.PassiveClock) {
	now, owner := clock.Now(), owners.ControllerUID(pod)
	if owner == "" || pod.Status.Phase != corev1.PodFailed || pod.Spec.NodeName == "" {
		return
	}
	m, failed := table.Instant(pod, now)
	if !failed || now.Sub(m.Since) > keep {
		return
	}
	f := Failure{Node: pod.Spec.NodeName, At: now, TTL: m.Row.TTL}
	if m.Row.Scope == signals.Slot {
		f.Slot = owners.Slot(pod)
	}
	x.Note(owner, f)
}
