package rescheduling

import (
	"context"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdfast-project/holdfast/rescheduler/api/memory"
	"github.com/holdfast-project/holdfast/rescheduler/internal/signals"
	"github.com/holdfast-project/holdfast/shared/history"
)

// ownership maps owners to the controllers of their pods: a JobSet to its Jobs, a Deployment to its ReplicaSets. It includes all workloads
// whose pods were observed, because a workload may ask for moves later.
type ownership struct {
	mu       sync.Mutex
	children map[types.UID]map[types.UID]bool
	// waiting are the pods that wait for their owner to recover, by owner.
	waiting map[types.UID]map[client.ObjectKey][]types.UID // and all the owners of each pod
}

func newOwnership() *ownership {
	return &ownership{children: map[types.UID]map[types.UID]bool{}, waiting: map[types.UID]map[client.ObjectKey][]types.UID{}}
}

// wait records that a pod must be reconciled when one of its owners changes.
func (i *ownership) wait(s *scope) {
	i.mu.Lock()
	defer i.mu.Unlock()
	all := make([]types.UID, 0, len(s.chain))
	for _, o := range s.chain {
		all = append(all, o.UID)
	}
	for _, uid := range all {
		if i.waiting[uid] == nil {
			i.waiting[uid] = map[client.ObjectKey][]types.UID{}
		}
		i.waiting[uid][client.ObjectKeyFromObject(s.pod)] = all
	}
}

// wake returns the pods that wait for the owner, and removes them.
func (i *ownership) wake(owner types.UID) []client.ObjectKey {
	i.mu.Lock()
	defer i.mu.Unlock()
	pods := slices.Collect(maps.Keys(i.waiting[owner]))
	for pod, all := range i.waiting[owner] {
		for _, uid := range all {
			delete(i.waiting[uid], pod)
			if len(i.waiting[uid]) == 0 {
				delete(i.waiting, uid)
			}
		}
	}
	return pods
}

// add adds a controller to an owner.
func (i *ownership) add(owner, direct types.UID) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.children[owner] == nil {
		i.children[owner] = map[types.UID]bool{}
	}
	i.children[owner][direct] = true
}

// of returns the controllers of the owner's pods that were observed.
func (i *ownership) of(owner types.UID) []types.UID {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Collect(maps.Keys(i.children[owner]))
}

// prune removes controllers without pods. The next pod of a controller adds it again.
func (i *ownership) prune(hasPods func(direct types.UID) bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for owner, children := range i.children {
		maps.DeleteFunc(children, func(direct types.UID, _ bool) bool { return !hasPods(direct) })
		if len(children) == 0 {
			delete(i.children, owner)
		}
	}
	for owner := range i.waiting { // owners that were deleted before they recovered
		if i.children[owner] == nil {
			delete(i.waiting, owner)
		}
	}
}

// Wake reconciles pods of an owner whose annotations have changed: those that wait for it, those that it names as the cause of a restart,
// and all of them if it now allows a different number of moves. These pods may have no events of their own. A standby observes no pods, so
// it wakes none.
func (r *Reconciler) Wake(before, after metav1.Object) {
	if len(r.ownership.of(after.GetUID())) == 0 {
		return
	}
	pods := r.ownership.wake(after.GetUID())
	for _, name := range signals.Named(after.GetName(), before.GetAnnotations()[history.Annotation], after.GetAnnotations()[history.Annotation]) {
		pods = append(pods, client.ObjectKey{Namespace: after.GetNamespace(), Name: name})
	}
	if before.GetAnnotations()[memory.RetriesAnnotation] != after.GetAnnotations()[memory.RetriesAnnotation] {
		pods = append(pods, r.podsOf(after)...)
	}
	r.enqueue(pods...)
}

func (r *Reconciler) podsOf(owner metav1.Object) []client.ObjectKey {
	var keys []client.ObjectKey
	for _, direct := range r.ownership.of(owner.GetUID()) {
		var pods corev1.PodList
		if err := r.Client.List(context.Background(), &pods, client.InNamespace(owner.GetNamespace()), byOwner(direct), client.UnsafeDisableDeepCopy); err != nil {
			log.Log.Error(err, "Listing the pods of a changed owner failed", "owner", owner.GetName())
			return keys
		}
		for i := range pods.Items {
			keys = append(keys, client.ObjectKeyFromObject(&pods.Items[i]))
		}
	}
	return keys
}
