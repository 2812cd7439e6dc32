package orchestrator

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/holdfast-project/holdfast/jobset-controller/api/v1alpha2"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// UIDIndex is the cache index that finds a JobSet by its UID.
const UIDIndex = "metadata.uid"

// IndexByUID is the index function of UIDIndex.
func IndexByUID(obj client.Object) []string { return []string{string(obj.GetUID())} }

// Wakeups turns what the store says into reconciles. It is a runnable of the leader.
type Wakeups struct {
	Client client.Reader
	Store  rounds.Leader
	// Others, if set, is told of each group that no JobSet has, and of every (re)connection, with "".
	Others func(ctx context.Context, group string)
	// Connected, if set, is called after every (re)connection, before any group is looked at.
	Connected func(context.Context)
	events    chan event.TypedGenericEvent[client.Object]
}

// NewWakeups returns a Wakeups whose Source feeds a controller.
func NewWakeups(c client.Reader, s rounds.Leader) *Wakeups {
	return &Wakeups{Client: c, Store: s, events: make(chan event.TypedGenericEvent[client.Object], 1024)}
}

// Source is what the controller watches.
func (w *Wakeups) Source() source.Source {
	return source.Channel(w.events, &handler.EnqueueRequestForObject{})
}

// Start listens until ctx ends.
func (w *Wakeups) Start(ctx context.Context) error {
	leading.Set(1)
	defer leading.Set(0)
	w.Store.WatchAll(ctx, func(group string) {
		if group == "" && w.Connected != nil {
			w.Connected(ctx)
		}
		w.wake(ctx, group)
	})
	return nil
}

// wake enqueues the JobSet of a group; after a reconnection all of them.
func (w *Wakeups) wake(ctx context.Context, group string) {
	var list v1alpha2.JobSetList
	var opts []client.ListOption
	if group != "" {
		opts = append(opts, client.MatchingFields{UIDIndex: group})
	}
	if err := w.Client.List(ctx, &list, opts...); err != nil {
		log.FromContext(ctx).Error(err, "finding the JobSet of a group", "group", group)
		return
	}
	if w.Others != nil && (len(list.Items) == 0 || group == "") {
		w.Others(ctx, group)
	}
	for i := range list.Items {
		w.send(ctx, list.Items[i].Namespace, list.Items[i].Name)
	}
}

func (w *Wakeups) send(ctx context.Context, namespace, name string) {
	js := &v1alpha2.JobSet{}
	js.SetNamespace(namespace)
	js.SetName(name)
	select {
	case w.events <- event.TypedGenericEvent[client.Object]{Object: js}:
	case <-ctx.Done():
	}
}
