package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/holdfast-project/holdfast/jobset-controller/internal/orchestrator/owners"
	"github.com/holdfast-project/holdfast/shared/coordination"
	"github.com/holdfast-project/holdfast/shared/coordination/rounds"
)

// Lease reads the leader's token from the Lease that it holds. The token increases with every leader change and with
// every new Lease object, so the store can reject a leader that does not know that it has been replaced. A process that
// loses its Lease exits, so the token is read only once.
type Lease struct {
	Live     client.Reader
	Key      types.NamespacedName
	Identity string

	mu    sync.Mutex
	token *coordination.Token
}

// Token returns the token of this leader. It returns an error while this process does not hold the Lease.
func (l *Lease) Token(ctx context.Context) (coordination.Token, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.token != nil {
		return *l.token, nil
	}
	var lease coordinationv1.Lease
	if err := l.Live.Get(ctx, l.Key, &lease); err != nil {
		return coordination.Token{}, fmt.Errorf("reading Lease %s: %w", l.Key, err)
	}
	if holder := ptr.Deref(lease.Spec.HolderIdentity, ""); holder != l.Identity {
		return coordination.Token{}, fmt.Errorf("the leader is %q, not this process (%q): Lease %s", holder, l.Identity, l.Key)
	}
	l.token = &coordination.Token{
		LeaseCreated: lease.CreationTimestamp.Unix(),
		Transitions:  int64(ptr.Deref(lease.Spec.LeaseTransitions, 0)),
	}
	return *l.token, nil
}

// Tokens returns the token of the leader; see Lease.
type Tokens interface {
	Token(ctx context.Context) (coordination.Token, error)
}

// Wakeups turns store notifications into reconciles. It runs only on the leader. An owner that was never reconciled is
// enqueued through the watch of its kind.
type Wakeups struct {
	Store   rounds.Leader
	Groups  *Groups
	Metrics *Metrics
	// Connected, if set, restores the store's users after every (re)connection, before any group is reconciled.
	Connected func(context.Context) error
	events    map[string]chan event.TypedGenericEvent[client.Object] // by controller name
}

// Source returns the event source for the controller of a kind. It must be called before Start.
func (w *Wakeups) Source(kind Kind) source.Source {
	if w.events == nil {
		w.events = map[string]chan event.TypedGenericEvent[client.Object]{}
	}
	w.events[kind.Controller] = make(chan event.TypedGenericEvent[client.Object], 1024)
	return source.Channel(w.events[kind.Controller], &handler.EnqueueRequestForObject{})
}

// Start delivers notifications until ctx is done.
func (w *Wakeups) Start(ctx context.Context) error {
	w.Metrics.leading.Set(1)
	defer w.Metrics.leading.Set(0)
	w.Store.WatchAll(ctx, func(group string) {
		if group == "" && w.Connected != nil {
			if err := w.Connected(ctx); err != nil && !errors.Is(err, context.Canceled) { // the reconcile of each owner tries again
				log.FromContext(ctx).Error(err, "restoring store users failed")
			}
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

// Sweep drops the groups of owners that no longer exist, and data that was left in the store by late reports. It does
// not rely on deletion events, because a deletion may happen while there is no leader.
type Sweep struct {
	Cache  client.Reader
	Live   client.Reader
	Store  rounds.Leader
	Tokens Tokens
	Owners *owners.Lister // nil if there are only JobSets
}

// Once performs a single sweep. It confirms that this process still holds the Lease before it drops a group.
func (s *Sweep) Once(ctx context.Context) error {
	groups, err := s.Store.Tidy(ctx)
	if err != nil {
		return err
	}
	unknown, err := s.Owners.Unknown(ctx, s.Cache, s.Live, slices.Collect(maps.Keys(groups)))
	if err != nil || len(unknown) == 0 {
		return err
	}
	if _, err := s.Tokens.Token(ctx); err != nil {
		return err
	}
	var errs []error
	for _, group := range unknown {
		log.FromContext(ctx).Info("dropping a group whose owner is gone", "group", group)
		errs = append(errs, s.Store.Drop(ctx, group))
	}
	return errors.Join(errs...)
}
