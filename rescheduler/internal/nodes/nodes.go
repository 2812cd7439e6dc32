// Package nodes lists the nodes of the cluster. A list is cached for a second, because every decision about a pod needs one and a list
// of 5,000 nodes takes megabytes.
package nodes

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// KeptFor is how long a list is used.
const KeptFor = time.Second

// Lister lists nodes from a cache.
type Lister struct {
	cache client.Reader
	clock clock.PassiveClock

	mu   sync.Mutex
	last *List
}

// NewLister returns a lister that has not listed any nodes yet.
func NewLister(cache client.Reader, clock clock.PassiveClock) *Lister {
	return &Lister{cache: cache, clock: clock}
}

// List is a read-only list of the nodes at one point in time.
type List struct {
	All []corev1.Node

	taken  time.Time
	byName map[string]*corev1.Node
}

// List returns the nodes. The list is at most KeptFor old.
func (l *Lister) List(ctx context.Context) (*List, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	if l.last != nil && now.Sub(l.last.taken) < KeptFor && !now.Before(l.last.taken) {
		return l.last, nil
	}
	var nodes corev1.NodeList
	if err := l.cache.List(ctx, &nodes, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	l.last = &List{All: nodes.Items, taken: now, byName: make(map[string]*corev1.Node, len(nodes.Items))}
	for i := range nodes.Items {
		l.last.byName[nodes.Items[i].Name] = &nodes.Items[i]
	}
	return l.last, nil
}

// Get returns a node by name, or nil.
func (l *List) Get(name string) *corev1.Node { return l.byName[name] }

// UID returns the UID of a node by name.
func (l *List) UID(name string) (uid string, exists bool) {
	node := l.Get(name)
	if node == nil {
		return "", false
	}
	return string(node.UID), true
}
