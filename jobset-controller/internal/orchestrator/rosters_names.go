package orchestrator

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/owners"
)

// nameplates lead from the groups that are led to their owners. Whoever was never looked at comes by the watch of the owners.
type nameplates struct {
	mu     sync.Mutex
	of     map[types.UID]types.NamespacedName
	events chan event.TypedGenericEvent[client.Object]
}

func (n *nameplates) note(uid types.UID, owner types.NamespacedName) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.of == nil {
		n.of = map[types.UID]types.NamespacedName{}
	}
	n.of[uid] = owner
}

func (n *nameplates) forget(uid types.UID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.of, uid)
}

// source of the controller. Nobody is woken before there is one.
func (n *nameplates) source() source.Source {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.events == nil {
		n.events = make(chan event.TypedGenericEvent[client.Object], 1024)
	}
	return source.Channel(n.events, &handler.EnqueueRequestForObject{})
}

// wake one owner, or all.
func (n *nameplates) wake(ctx context.Context, uid types.UID) {
	events, list := n.find(uid)
	if events == nil {
		return
	}
	for _, name := range list {
		owner := owners.MakeElasticJob()
		owner.SetNamespace(name.Namespace)
		owner.SetName(name.Name)
		select {
		case events <- event.TypedGenericEvent[client.Object]{Object: owner}:
		case <-ctx.Done():
			return
		}
	}
}

func (n *nameplates) find(uid types.UID) (chan event.TypedGenericEvent[client.Object], []types.NamespacedName) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var list []types.NamespacedName
	for known, name := range n.of {
		if uid == "" || uid == known {
			list = append(list, name)
		}
	}
	return n.events, list
}
