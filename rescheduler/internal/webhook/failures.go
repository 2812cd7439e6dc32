package webhook

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/holdfast-project/holdfast/rescheduler/internal/owners"
	"github.com/holdfast-project/holdfast/rescheduler/internal/signals"
)

// Limits on recorded failures.
const (
	keep      = 2 * time.Minute // by then, the owner's failure history contains the failure
	perOwner  = 32
	maxOwners = 4096
)

// failure is the failure of one pod.
type failure struct {
	node, slot string
	at         time.Time     // when it was observed
	ttl        time.Duration // how long the node is excluded
}

// Failures remembers for a short time which pods have failed on which nodes, by owner. A failed pod may be replaced before the controller
// has recorded its node, and a StatefulSet has already deleted the failed pod by then. The webhook uses the failures when it admits the
// replacement. The type is safe for concurrent use, and its zero value is empty.
type Failures struct {
	mu      sync.RWMutex
	byOwner map[types.UID][]failure
}

// note adds a failure of one of the owner's pods. An empty slot means that the failure affects all of them.
func (x *Failures) note(owner types.UID, f failure) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.byOwner == nil {
		x.byOwner = map[types.UID][]failure{}
	}
	if len(x.byOwner) >= maxOwners {
		maps.DeleteFunc(x.byOwner, func(_ types.UID, old []failure) bool { return f.at.Sub(old[len(old)-1].at) > keep })
	}
	kept := slices.DeleteFunc(x.byOwner[owner], func(old failure) bool {
		return old.node == f.node && old.slot == f.slot || f.at.Sub(old.at) > keep
	})
	kept = append(kept, f)
	x.byOwner[owner] = kept[max(0, len(kept)-perOwner):]
}

// nodes returns the nodes with recent failures that affect all of the owner's pods or the given slot.
func (x *Failures) nodes(owner types.UID, slot string, now time.Time) []string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var nodes []string
	for _, f := range x.byOwner[owner] {
		if (f.slot == "" || f.slot == slot) && now.Sub(f.at) < min(keep, f.ttl) && !slices.Contains(nodes, f.node) {
			nodes = append(nodes, f.node)
		}
	}
	return nodes
}

// Watch starts recording pod failures. It runs on every replica, because every replica admits pods.
func (x *Failures) Watch(ctx context.Context, c cache.Cache, table signals.Table, clock clock.PassiveClock) error {
	informer, err := c.GetInformer(ctx, &corev1.Pod{}, cache.BlockUntilSynced(false))
	observe := func(o any) {
		if gone, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
			o = gone.Obj
		}
		if pod, ok := o.(*corev1.Pod); ok {
			x.notePod(pod, table, clock)
		}
	}
	if err == nil {
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    observe,
			UpdateFunc: func(_, o any) { observe(o) },
			DeleteFunc: observe,
		})
	}
	if err != nil {
		return fmt.Errorf("watching pods: %w", err)
	}
	return nil
}

// notePod notes a recent failure. Older failures are in the owner's failure history, or have expired.
func (x *Failures) notePod(pod *corev1.Pod, table signals.Table, clock clock.PassiveClock) {
	now, owner := clock.Now(), owners.ControllerUID(pod)
	if owner == "" || pod.Status.Phase != corev1.PodFailed || pod.Spec.NodeName == "" {
		return
	}
	m, failed := table.Instant(pod, now)
	if !failed || now.Sub(m.Since) > keep {
		return
	}
	f := failure{node: pod.Spec.NodeName, at: now, ttl: m.Row.TTL}
	if m.Row.BySlot {
		f.slot = owners.Slot(pod)
	}
	x.note(owner, f)
}
