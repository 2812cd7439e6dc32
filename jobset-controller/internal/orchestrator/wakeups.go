package orchestrator

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// Wakeups turns notifications of the store into reconciles. It runs only on the leader. An owner that was never reconciled
// arrives through the watch of its kind.
type Wakeups struct {
	Store   rounds.Leader
	Groups  *Groups
	Metrics *Metrics
	// Connected, if set, is called after every (re)connection, before any group is reconciled.
	Connected func(context.Context)
	events    map[string]chan event.TypedGenericEvent[client.Object] // by controller
}

// Source returns the event source for the controller of a kind. Call it before Start.
func (w *Wakeups) Source(kind Kind) source.Source {
	if w.events == nil {
		w.events = map[string]chan event.TypedGenericEvent[client.Object]{}
	}
	w.events[kind.Controller] = make(chan event.TypedGenericEvent[client.Object], 1024)
	return source.Channel(w.events[kind.Controller], &handler.EnqueueRequestForObject{})
}

// Start delivers notifications until ctx ends.
func (w *Wakeups) Start(ctx context.Context) error {
	w.Metrics.leading.Set(1)
	defer w.Metrics.leading.Set(0)
	w.Store.WatchAll(ctx, func(group string) {
		if group == "" && w.Connected != nil {
			w.Connected(ctx)
		}
		w.wake(ctx, types.UID(group))
	})
	return nil
}

// wake enqueues the owner of a group or, after a reconnection, all owners.
func (w *Wakeups) wake(ctx context.Context, group types.UID) {
	for _, owner := range w.Groups.owners(group) {
		obj := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: owner.Namespace, Name: owner.Name}}
		select {
		case w.events[owner.kind] <- event.TypedGenericEvent[client.Object]{Object: obj}:
		case <-ctx.Done():
			return
		}
	}
}
