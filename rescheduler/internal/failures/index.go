// Package failures remembers for a short time which pods have failed on which nodes, by owner. A failed pod may be replaced before the
// controller has recorded its node, and a StatefulSet has already deleted the failed pod by then. The webhook uses this index when it
// admits the replacement.
package failures

import (
	"context"
	"fmt"
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

// Limits of the index.
const (
	keep     = 2 * time.Minute // by then, the owner's failure history contains the failure
	perOwner = 32
	most     = 4096
)

// Failure is the failure of one pod.
type Failure struct {
	Node, Slot string
	At         time.Time     // when it was observed
	TTL        time.Duration // how long the node is excluded
}

// Index holds recent failures by owner. It is safe for concurrent use. The zero value is empty.
type Index struct {
	mu      sync.RWMutex
	byOwner map[types.UID][]Failure
}

// Note adds the failure of a pod of the owner. An empty slot means that the failure affects all pods of the owner.
func (x *Index) Note(owner types.UID, f Failure) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.byOwner == nil {
		x.byOwner = map[types.UID][]Failure{}
	}
	if len(x.byOwner) >= most {
		x.sweep(f.At)
	}
	kept := slices.DeleteFunc(x.byOwner[owner], func(old Failure) bool {
		return old.Node == f.Node && old.Slot == f.Slot || f.At.Sub(old.At) > keep
	})
	kept = append(kept, f)
	x.byOwner[owner] = kept[max(0, len(kept)-perOwner):]
}

// sweep drops expired failures.
func (x *Index) sweep(now time.Time) {
	for owner, failures := range x.byOwner {
		if now.Sub(failures[len(failures)-1].At) > keep {
			delete(x.byOwner, owner)
		}
	}
}

// Nodes returns the nodes on which pods of the owner have recently failed with an effect on all pods or on the given slot.
func (x *Index) Nodes(owner types.UID, slot string, now time.Time) []string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var nodes []string
	for _, f := range x.byOwner[owner] {
		if (f.Slot == "" || f.Slot == slot) && now.Sub(f.At) < min(keep, f.TTL) && !slices.Contains(nodes, f.Node) {
			nodes = append(nodes, f.Node)
		}
	}
	return nodes
}

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

// notePod notes a recent failure. Older failures are in the failure history of the owner, or have expired.
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
